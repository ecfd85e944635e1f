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

/// Since when each worker has had its key in hand, so that one that hangs is noticed. Thread-safe.
class BusyWorkers {
 public:
  /// `clock`: a steady one.
  BusyWorkers(std::size_t workers, const base::Clock& clock) : since_(workers), clock_(clock) {}

  /// `reconcile`, timed as the work of worker number `index`.
  kube::Worker::Reconcile timed(kube::Worker::Reconcile reconcile, std::size_t index);

  /// What a worker calls, in any thread, to say that its work gets on: for the worker of the calling thread, as long as
  /// it is at the present key. In a thread that is no timed worker's it does nothing.
  std::function<void()> progress_of_this_thread() const;

  /// An error names how long a reconcile has not returned, nor got on, if that is for minutes.
  base::Status alive() const;

 private:
  using Since = std::atomic<base::Duration::rep>;
  class Busy;

  base::Duration::rep ticks() const { return clock_.now().time_since_epoch().count(); }

  std::vector<Since> since_;  ///< per worker; 0: idle
  const base::Clock& clock_;
};

}  // namespace controllers
