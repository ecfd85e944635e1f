#pragma once

/// Components of the operator and their connections; internal to it.

#include <atomic>
#include <memory>
#include <semaphore>
#include <vector>

#include "controllers/evacuation/origin/origin_memory.hpp"
#include "controllers/operator/busy_workers.hpp"
#include "controllers/operator/controller_queue.hpp"
#include "controllers/operator/operator.hpp"
#include "controllers/operator/operator_caches.hpp"
#include "evictors/registry.hpp"

namespace controllers {

class AdmissionQueue;
class AdmissionRules;
class AuditTrail;
class EvacuationTracer;
class GatePoller;
struct NativeResponder;
class PolicyReconciler;
class Reservations;
class SoftTaints;
class Triggers;
class UsageCollector;
namespace advice {
struct Service;
}
namespace evacuation {
class PrometheusMetrics;
class Reconciler;
}  // namespace evacuation
namespace placement {
class Hints;
class Webhook;
}  // namespace placement
namespace validation {
class Webhook;
}

/// All components of the operator except its threads, in the order of their dependencies. They are connected, so the
/// operator works as soon as the caches are filled.
struct OperatorParts {
  /// All references must outlive this object.
  explicit OperatorParts(Operator::Dependencies dependencies);
  ~OperatorParts();
  OperatorParts(const OperatorParts&) = delete;
  OperatorParts& operator=(const OperatorParts&) = delete;

  /// Returns all caches, including the responder's.
  std::vector<OperatorCaches::Named> all_caches();
  std::vector<kube::Reflector*> all_reflectors();
  /// Returns whether all caches hold their first list.
  bool have_caches_synced();
  /// Returns all queues, including those of enabled optional components.
  std::vector<NamedQueue> all_queues() const;
  void enqueue_policies();

  Operator::Dependencies deps;
  evictors::EvictorRegistry registry;
  const base::Clock& steady;
  OriginMemory origins{deps.clock};
  OnceRun once;
  OperatorCaches caches;
  const std::unique_ptr<evacuation::PrometheusMetrics> evacuation_metrics;
  std::counting_semaphore<> eviction_slots;
  BusyWorkers busy;
  const std::unique_ptr<AuditTrail> trail;
  const std::unique_ptr<EvacuationTracer> tracer;
  std::atomic<bool> audit_failed = false;
  ControllerQueue evacuation_queue;
  ControllerQueue policy_queue;
  ControllerQueue usage_queue;
  const std::unique_ptr<UsageCollector> usage;
  ControllerQueue gate_queue;
  const std::unique_ptr<GatePoller> gates;
  ControllerQueue taint_queue;
  const std::unique_ptr<SoftTaints> taints;
  const std::unique_ptr<Triggers> triggers;
  const std::unique_ptr<AdmissionQueue> admission;
  const std::unique_ptr<AdmissionRules> admission_rules;
  const std::unique_ptr<Reservations> reservations;
  const std::unique_ptr<evacuation::Reconciler> evacuations;
  const std::unique_ptr<PolicyReconciler> policies;
  const std::unique_ptr<placement::Hints> hints;
  const std::unique_ptr<placement::Webhook> placement_webhook;
  const std::unique_ptr<validation::Webhook> object_webhook;
  std::unique_ptr<NativeResponder> responder;       ///< Only if enabled and served
  std::unique_ptr<advice::Service> advice_service;  ///< Only if enabled
};

/// Adds the indexes that components need, and connects cache events to the queues. The handlers run on the reflectors'
/// threads and only count and enqueue. Call once, before the first run() or poll() of a cache.
void connect_caches(OperatorParts& parts);

}  // namespace controllers
