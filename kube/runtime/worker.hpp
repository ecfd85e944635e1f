#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/work_queue.hpp"

namespace kube {

/// Counters for metrics, shared by all workers of a queue.
struct WorkerCounts {
  std::atomic<std::int64_t> succeeded{0};
  std::atomic<std::int64_t> failed{0};      ///< reconcile returned an Error; retried with backoff
  std::atomic<std::int64_t> exceptions{0};  ///< reconcile threw an exception, which is a bug
};

/// Maximum Retry-After that is obeyed. A proxy may send a day, while deadlines continue to run. It never shortens the
/// queue's own backoff.
inline constexpr base::seconds kMaxRetryAfter{60};

/// Takes keys from a queue and reconciles them. Decides when to reconcile a key again: after a delay, with backoff, or
/// on the next change. Catches all exceptions. Run one worker per concurrent reconcile.
class Worker {
 public:
  using Reconcile = std::function<base::Result<Requeue>(const api::ObjectKey&)>;

  /// `queue` and `counts` must outlive the worker.
  Worker(WorkQueue& queue, Reconcile reconcile, WorkerCounts& counts, base::Log log)
      : queue_(queue), reconcile_(std::move(reconcile)), counts_(counts), log_(std::move(log)) {}

  /// Runs until stopped. Finishes the current key first.
  void run(std::stop_token stop);

  /// Processes one ready key without waiting, for virtual time. Returns false if none exists.
  bool step();

  /// Processes a key returned by take().
  void work_on(const api::ObjectKey& key);

 private:
  base::Result<Requeue> guarded(const api::ObjectKey& key);

  WorkQueue& queue_;
  Reconcile reconcile_;
  WorkerCounts& counts_;
  base::Log log_;
};

}  // namespace kube
