#pragma once

/// What the operator is made of; internal to it.

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

/// Everything that the operator consists of but its threads, in the order of dependency; connected (wiring.hpp), so
/// that it works as soon as the caches are filled.
struct OperatorParts {
  /// All references must outlive it.
  explicit OperatorParts(Operator::Dependencies dependencies);
  ~OperatorParts();
  OperatorParts(const OperatorParts&) = delete;
  OperatorParts& operator=(const OperatorParts&) = delete;

  /// The responder's included.
  std::vector<OperatorCaches::Named> all_caches();
  std::vector<kube::Reflector*> all_reflectors();
  /// All caches hold their first list.
  bool have_caches_synced();
  /// Those of optional parts included, if there are any.
  std::vector<NamedQueue> all_lanes() const;
  /// All policies are reconciled again.
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
  ControllerQueue evacuation_lane;
  ControllerQueue policy_lane;
  ControllerQueue usage_lane;
  UsageCollector usage;
  ControllerQueue gate_lane;
  GatePoller gates;
  ControllerQueue taint_lane;
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
  std::optional<NativeResponder> responder;  ///< only when enabled and served
  std::optional<advice::Service> adviser;    ///< only when enabled

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
  validation::Surroundings surroundings() const;
  std::shared_ptr<const ObservedPolicy> policy_of(const std::string& name) const;
  evacuation::PlannedNodes planned_nodes(const std::string& policy, const std::string& strategy) const;
  advice::Cluster advised_cluster() const;
  void on_audit_health(const std::optional<base::Error>& failure);
};

/// Which workers of an operator are which, by their numbers in OperatorParts::busy.
class WorkerNumbers {
 public:
  /// While one of them searches the other one has all other policies.
  static constexpr std::size_t kPolicyWorkers = 2;

  /// `evictions`: calls that may be in flight.
  explicit WorkerNumbers(std::int32_t evictions);

  /// One for each eviction call that may be in flight, and a few for what else is written. Nothing deadlocks with
  /// fewer: who waits for its turn to evict holds no lock, and whoever has the turn has a thread, and gives it back
  /// when its call has ended or timed out.
  std::size_t evacuation_workers() const { return evacuation_workers_; }
  /// `index` below kPolicyWorkers.
  std::size_t of_policy_worker(std::size_t index) const { return evacuation_workers_ + index; }
  std::size_t of_responder() const { return evacuation_workers_ + kPolicyWorkers; }
  std::size_t count() const { return of_responder() + 1; }

 private:
  std::size_t evacuation_workers_;
};

}  // namespace controllers
