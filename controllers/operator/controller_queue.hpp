#pragma once

#include "base/clock.hpp"
#include "kube/runtime/work_queue.hpp"
#include "kube/runtime/worker.hpp"

namespace controllers {

/// Queue and counters of one controller.
struct ControllerQueue {
  /// `clock` must be steady.
  explicit ControllerQueue(const base::Clock& clock) : queue(clock) {}

  kube::WorkQueue queue;
  kube::WorkerCounts counts;
};

/// Reference to a queue and its counters, with the name used in metrics.
struct NamedQueue {
  const char* name;
  const kube::WorkQueue& queue;
  const kube::WorkerCounts& counts;
};

}  // namespace controllers
