#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <vector>

#include "controllers/operator/busy_workers.hpp"
#include "kube/runtime/worker.hpp"

namespace controllers {

struct ControllerQueue;
struct OperatorParts;

/// Workers that process the keys of the operator's queues. Use either run() or the steps, from one thread.
class OperatorWorkers {
 public:
  explicit OperatorWorkers(OperatorParts& parts);

  /// Starts all workers on their own threads, then calls `meanwhile`, which must return soon after `stop`. Then waits
  /// until the workers have finished their current keys. Call once.
  void run(std::stop_token stop, const std::function<void()>& meanwhile);

  /// For virtual time: reconciles one ready key. Returns false if no key is ready.
  bool step_one();
  /// For virtual time: reconciles all ready keys, queue by queue. Returns false if no key was ready.
  bool step_all();

 private:
  kube::Worker worker(ControllerQueue& controller, kube::Worker::Reconcile reconcile);
  kube::Worker evacuation_worker(std::size_t index);
  kube::Worker policy_worker(std::size_t index);
  kube::Worker gate_worker();
  kube::Worker usage_worker();
  kube::Worker taint_worker();
  kube::Worker responder_worker();
  std::vector<kube::Worker> one_worker_per_queue();
  void look_for_spikes();

  OperatorParts& parts_;
  const WorkerNumbers numbers_;
};

}  // namespace controllers
