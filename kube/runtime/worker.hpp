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

/// What workers did, for metrics. Shared by all workers of a queue.
struct WorkerCounts {
  std::atomic<std::int64_t> succeeded{0};
  std::atomic<std::int64_t> failed{0};      ///< an Error came back: tried again with back-off
  std::atomic<std::int64_t> exceptions{0};  ///< a bug: something threw
};

/// A Retry-After is obeyed up to this long: a proxy may name a day, and deadlines go on meanwhile. It never shortens
/// the queue's own back-off.
inline constexpr base::seconds kMaxRetryAfter{60};

/// Takes keys from a queue, reconciles them, and decides alone what follows: again after a while, again with back-off,
/// or nothing until something changes. Catches everything. Run as many on one queue as calls may be in flight.
class Worker {
 public:
  using Reconcile = std::function<base::Result<Requeue>(const api::ObjectKey&)>;

  /// `queue` and `counts` must outlive the worker.
  Worker(WorkQueue& queue, Reconcile reconcile, WorkerCounts& counts, base::Log log)
      : queue_(queue), reconcile_(std::move(reconcile)), counts_(counts), log_(std::move(log)) {}

  /// Until stopped; the key in hand is finished first.
  void run(std::stop_token stop);

  /// One key that is ready now, without waiting: for virtual time. False: there was none.
  bool step();

  /// A key that take() has handed out.
  void work_on(const api::ObjectKey& key);

 private:
  base::Result<Requeue> guarded(const api::ObjectKey& key);

  WorkQueue& queue_;
  Reconcile reconcile_;
  WorkerCounts& counts_;
  base::Log log_;
};

}  // namespace kube
