#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/runtime/worker.hpp"

namespace controllers {

/// Assigns numbers in BusyWorkers to the workers.
class WorkerNumbers {
 public:
  /// While one worker searches, the other one handles the remaining policies.
  static constexpr std::size_t kPolicyWorkers = 2;

  /// `evictions` is the maximum number of eviction calls in flight.
  explicit WorkerNumbers(std::int32_t evictions);

  /// One worker for each eviction call that may be in flight, plus a few for other writes. Fewer workers would not
  /// deadlock: a worker that waits for an eviction slot holds no lock, and the worker that has the slot has a thread
  /// and releases the slot when its call ends or times out.
  std::size_t evacuation_workers() const { return evacuation_workers_; }
  /// `index` must be below kPolicyWorkers.
  std::size_t policy_worker_number(std::size_t index) const { return evacuation_workers_ + index; }
  std::size_t responder_number() const { return evacuation_workers_ + kPolicyWorkers; }
  std::size_t count() const { return responder_number() + 1; }

 private:
  std::size_t evacuation_workers_;
};

/// Start times of the running reconciles, for detecting workers that hang. Thread-safe.
class BusyWorkers {
 public:
  /// `clock` must be steady.
  BusyWorkers(std::size_t workers, const base::Clock& clock) : since_(workers), clock_(clock) {}

  /// Wraps `reconcile` so that its calls are timed as the work of worker `index`.
  kube::Worker::Reconcile timed(kube::Worker::Reconcile reconcile, std::size_t index);

  /// Returns a heartbeat callback bound to the calling worker, a no-op in other threads. Any thread working on its
  /// current reconcile may call it; without it the liveness probe takes a long cycle for a hang.
  std::function<void()> progress_of_this_thread() const;

  /// Returns an error with the age of a reconcile that has neither returned nor sent a heartbeat for five minutes.
  base::Status alive() const;

 private:
  using Since = std::atomic<base::Duration::rep>;
  class Busy;

  base::Duration::rep ticks() const { return clock_.now().time_since_epoch().count(); }

  std::vector<Since> since_;  ///< Per worker: start of the reconcile or last heartbeat, 0 if idle
  const base::Clock& clock_;
};

}  // namespace controllers
