#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/runtime/worker.hpp"

namespace controllers {

/// Start times of the running reconciles, for detecting workers that hang. Thread-safe.
class BusyWorkers {
 public:
  /// `clock` must be steady.
  BusyWorkers(std::size_t workers, const base::Clock& clock) : since_(workers), clock_(clock) {}

  /// Wraps `reconcile` so that its calls are timed as the work of worker `index`.
  kube::Worker::Reconcile timed(kube::Worker::Reconcile reconcile, std::size_t index);

  /// Returns a heartbeat callback bound to the calling worker. Any thread working on its current reconcile may call
  /// it; without it the liveness probe takes a long cycle for a hang. Returns a no-op in threads that are not timed
  /// workers.
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
