#pragma once

#include "base/clock.hpp"
#include "kube/runtime/work_queue.hpp"
#include "kube/runtime/worker.hpp"

namespace controllers {

/// A queue of keys of one kind, and what its workers have done.
struct ControllerQueue {
  /// `clock`: a steady one.
  explicit ControllerQueue(const base::Clock& clock) : queue(clock) {}

  kube::WorkQueue queue;
  kube::WorkerCounts counts;
};

/// A lane under the name that metrics know it by, whoever owns it.
struct NamedQueue {
  const char* name;
  const kube::WorkQueue& queue;
  const kube::WorkerCounts& counts;
};

}  // namespace controllers
