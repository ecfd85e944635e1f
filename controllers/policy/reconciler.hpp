#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/admission/cooldown.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/policy/audit.hpp"
#include "controllers/policy/circuit.hpp"
#include "controllers/policy/cycle/cycle_planner.hpp"
#include "controllers/policy/cycle/cycle_traces.hpp"
#include "controllers/policy/cycle/evacuation_creator.hpp"
#include "controllers/policy/cycle/policy_lock.hpp"
#include "controllers/policy/cycle/policy_metrics.hpp"
#include "controllers/policy/cycle/policy_statuses.hpp"
#include "controllers/policy/cycle/policy_taints.hpp"
#include "controllers/policy/cycle/situation.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/ports.hpp"
#include "controllers/policy/taints/soft_taints.hpp"
#include "controllers/policy/triggers.hpp"
#include "controllers/policy/usage/report.hpp"
#include "evictors/registry.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

/// Drives DeschedulerPolicies: plans a cycle when one is due, makes the Evacuations, writes the status once.
/// Observe → decide (decide.hpp, cycle.hpp) → act. reconcile() may be called by several threads, by each for another
/// policy: they take turns, but for a search, beside which other policies have theirs. One searches at a time.
class PolicyReconciler {
 public:
  struct Dependencies {
    kube::Client& client;
    PolicyClocks clocks;
    PolicyCaches caches;
    PolicyMeasurements measured;
    PolicySteering steering;
    PolicyLeadership leadership;
    const evictors::EvictorRegistry& evictors;
    kube::EventSink& events;
    base::Metrics& metrics;
    base::Log log;
    PolicyAudit& audit = no_policy_audit();
    KeySource& keys = process_keys();  ///< with which it signs the Evacuations that it makes
    SpanSink* spans = nullptr;         ///< of the traces of cycles; nullptr: there are none
  };

  explicit PolicyReconciler(Dependencies dependencies);

  /// Sets the number of Evacuations created concurrently. Default 1. With more than one, the functions in Dependencies
  /// are called from several threads. REQUIRES: reconcile() is not running; `creators` is at least 1.
  void set_creators(int creators) { creator_.set_creators(creators); }
  /// Sets the function that sleeps before a retry of a 429 and returns false on shutdown. Called from several threads.
  /// By default retries are immediate. REQUIRES: reconcile() is not running.
  void set_pause(std::function<bool(base::Duration)> pause) { creator_.set_pause(std::move(pause)); }

  /// Sets the executor that runs the parts of a search in parallel on its own threads. REQUIRES: reconcile() is not
  /// running.
  void set_executor(strategies::Executor executor) { planner_.set_executor(std::move(executor)); }

  /// Sets a function that returns true on shutdown, which stops planning and creations. Called from several threads.
  /// Default: never. REQUIRES: reconcile() is not running.
  void set_stopping(std::function<bool()> is_stopping) { is_stopping_ = std::move(is_stopping); }

  /// Errors should be retried with backoff. kConflict: the policy changed since the cache saw it; the result of the
  /// cycle is kept in memory and written by the retry. kCancelled: may_act() returned false, or the cycle became
  /// obsolete because the policy changed or the process shuts down; nothing was created or remembered.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);

 private:
  /// In its turn.
  base::Result<kube::Requeue> reconcile_locked(const api::ObjectKey& key);
  /// REQUIRES: seen.plan_spec.
  base::Result<kube::Requeue> reconcile_valid(const ObservedPolicy& seen, const api::DeschedulerPolicy& policy,
                                              const api::DeschedulerPolicyStatus& known);
  /// Begins the cycle's trace, and takes what called for it. An error: neither is left.
  base::Result<CycleOutcome> plan_traced(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                         const Situation& situation, bool may_move);
  base::Result<CycleOutcome> run_due_cycle(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                           const Situation& situation, bool may_move);
  /// Sends the trace. `saved`: result of writing the status.
  void end_trace(const std::string& policy, const CycleOutcome& outcome, const base::Status& saved);
  void note_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) const;
  api::DeschedulerPolicyStatus status_after(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                            const Situation& situation, const CycleOutcome* outcome);
  kube::Requeue next_requeue(const api::DeschedulerPolicyStatus& next, const Situation& situation) const;
  GateVerdict gates_of(const std::string& policy) const;
  /// Publishes an Event when gates begin or cease to hold the policy.
  void set_gates_condition(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                           const api::DeschedulerPolicyStatus& next) const;
  void note_trigger(const std::string& policy, api::TriggerKind trigger) const;
  void forget_previous(const std::string& name, const std::string& uid);
  base::Status reject(const ObservedPolicy& seen, const std::string& problem);
  void notify_once(const api::DeschedulerPolicy& policy, const Situation& situation, const CycleOutcome* outcome) const;
  /// Whether this replica leads and is not shutting down, and the policy is unchanged.
  bool is_wanted(const api::DeschedulerPolicy& policy) const;
  void carry_out(const api::DeschedulerPolicy& policy, CycleOutcome& outcome);
  /// Whether is_wanted(), no cache is stale and no gate holds. Checked between creations, because thousands of them
  /// take minutes.
  bool may_go_on(const api::DeschedulerPolicy& policy) const;
  base::Status save(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                    const api::DeschedulerPolicyStatus& next);
  void publish(const api::ObjectMeta& policy, kube::Event event, std::string action) const;
  api::DeschedulerPolicy with_circuit(api::DeschedulerPolicy policy);

  Dependencies deps_;
  PolicyLock policy_lock_;
  // The members below are guarded by policy_lock_.
  PolicyMetrics metrics_;
  PolicyStatuses statuses_;
  PolicyTaints taints_;
  CycleTraces traces_;
  SituationObserver observer_;
  CyclePlanner planner_;
  EvacuationCreator creator_;
  std::function<bool()> is_stopping_;
  struct Verdicts {
    SeenVerdicts stored;  ///< included in the policy's stored status
    SeenVerdicts judged;  ///< judged by the current reconcile
  };
  std::map<std::string, Verdicts> verdicts_;  ///< by policy
  std::map<std::string, std::string> known_;  ///< UIDs of the reconciled policies, by name
};

}  // namespace controllers
