#pragma once

/// Components of the operator; internal to it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/admission/queue.hpp"
#include "controllers/admission/reservations.hpp"
#include "controllers/evacuation/eviction_request/wiring.hpp"
#include "controllers/evacuation/metrics.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "controllers/observability/tracing/evacuation_tracer.hpp"
#include "controllers/operator/audit_trail.hpp"
#include "controllers/operator/busy_workers.hpp"
#include "controllers/operator/controller_queue.hpp"
#include "controllers/operator/operator.hpp"
#include "controllers/operator/operator_caches.hpp"
#include "controllers/policy/admission_rules.hpp"
#include "controllers/policy/gates/gate_poller.hpp"
#include "controllers/policy/reconciler.hpp"
#include "controllers/policy/taints/soft_taints.hpp"
#include "controllers/policy/triggers.hpp"
#include "controllers/webhooks/placement/webhook.hpp"
#include "controllers/webhooks/validation/webhook.hpp"
#include "evictors/registry.hpp"

namespace controllers {

/// All components of the operator except its threads, in the order of their dependencies. They are connected
/// (wiring.hpp), so the operator works as soon as the caches are filled.
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
  evacuation::PrometheusMetrics evacuation_metrics;
  std::counting_semaphore<> eviction_slots;
  BusyWorkers busy;
  AuditTrail trail;
  EvacuationTracer tracer;
  std::atomic<bool> audit_failed = false;
  ControllerQueue evacuation_queue;
  ControllerQueue policy_queue;
  ControllerQueue usage_queue;
  UsageCollector usage;
  ControllerQueue gate_queue;
  GatePoller gates;
  ControllerQueue taint_queue;
  SoftTaints taints;
  Triggers triggers;
  AdmissionQueue admission;
  AdmissionRules admission_rules;
  Reservations reservations;
  evacuation::Reconciler evacuations;
  PolicyReconciler policies;
  placement::Hints hints;
  placement::Webhook placement_webhook;
  validation::Webhook object_webhook;
  std::optional<NativeResponder> responder;       ///< Only if enabled and served
  std::optional<advice::Service> advice_service;  ///< Only if enabled

 private:
  UsageCollector::Dependencies usage_dependencies();
  GatePoller::Dependencies gate_dependencies();
  SoftTaints::Dependencies taint_dependencies();
  evacuation::Reconciler::Dependencies evacuation_dependencies();
  PolicyReconciler::Dependencies policy_dependencies();
  validation::Webhook::Dependencies webhook_dependencies();
  void add_responder();
  void add_adviser();

  std::string creator_of(const api::Evacuation& evacuation);
  validation::ClusterContext surroundings() const;
  std::shared_ptr<const ObservedPolicy> policy_of(const std::string& name) const;
  evacuation::PlannedNodes planned_nodes(const std::string& policy, const std::string& strategy) const;
  advice::Cluster advised_cluster() const;
  void on_audit_health(const std::optional<base::Error>& failure);
};

/// Assigns numbers in OperatorParts::busy to the workers.
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

}  // namespace controllers
