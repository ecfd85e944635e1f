#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <vector>

#include "controllers/operator/parts.hpp"
#include "kube/runtime/worker.hpp"

namespace controllers {

/// Who takes the keys of an operator's queues. Either run() by one thread, or the steps by one thread.
class OperatorWorkers {
 public:
  explicit OperatorWorkers(OperatorParts& parts) : parts_(parts), numbers_(parts.deps.config.workers) {}

  /// All of them work on threads of their own while `meanwhile` runs, which returns soon after `stop`; then their keys
  /// in hand are finished. REQUIRES: once.
  void run(std::stop_token stop, const std::function<void()>& meanwhile);

  /// Virtual time: one key that is ready now. False: there is none.
  bool step_one();
  /// The same with all that are ready, queue by queue. False: there was none.
  bool step_all();

 private:
  void prepare_policies(const std::stop_token& stop);
  kube::Worker evacuation_worker(std::size_t index);
  kube::Worker policy_worker(std::size_t index);
  kube::Worker gate_worker();
  kube::Worker usage_worker();
  kube::Worker taint_worker();
  kube::Worker responder_worker();
  std::vector<kube::Worker> one_each();
  void look_for_spikes();

  OperatorParts& parts_;
  const WorkerNumbers numbers_;
};

}  // namespace controllers
