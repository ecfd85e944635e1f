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
    KeySource& keys = keys_in_memory();  ///< with which it signs the Evacuations that it makes
    SpanSink* spans = nullptr;           ///< of the traces of cycles; nullptr: there are none
  };

  explicit PolicyReconciler(Dependencies dependencies);

  /// So many Evacuations of a plan are created at a time from here on; until then one. Then all that Dependencies name
  /// is called from several threads. REQUIRES: not while reconcile() runs; `creators` is at least 1.
  void set_creators(int creators) { creator_.set_creators(creators); }
  /// How a creator waits until a server that has too much to do (429) takes more; false: shutting down, give up. Called
  /// from several threads. Until then it tries again at once. REQUIRES: not while reconcile() runs.
  void set_pause(std::function<bool(base::Duration)> pause) { creator_.set_pause(std::move(pause)); }

  /// Who runs the parts of a search from here on: side by side, on threads of its own. REQUIRES: not while reconcile()
  /// runs.
  void set_executor(strategies::Executor executor) { planner_.set_executor(std::move(executor)); }

  /// True: shutting down. A plan in the making is given up, and so are creations. Called from several threads. Until
  /// then nobody shuts down. REQUIRES: not while reconcile() runs.
  void set_stopping(std::function<bool()> is_stopping) { is_stopping_ = std::move(is_stopping); }

  /// Errors are worth a retry with back-off. kConflict: the policy changed since the cache saw it; what the cycle did
  /// is remembered and is written at the next try. kCancelled: may_act() said no, or nobody wants what was being
  /// planned: the policy is another one by now, or this is the end; nothing came of the cycle, nor is it remembered.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);

 private:
  /// In its turn.
  base::Result<kube::Requeue> reconcile_locked(const api::ObjectKey& key);
  /// REQUIRES: seen.plan_spec.
  base::Result<kube::Requeue> reconcile_valid(const ObservedPolicy& seen, const api::DeschedulerPolicy& policy,
                                              const api::DeschedulerPolicyStatus& known);
  /// Begins the cycle's trace, and takes what called for it. An error: neither is left.
  base::Result<CycleOutcome> plan_traced(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                         const Situation& situation, bool may_move);
  base::Result<CycleOutcome> run_due_cycle(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                           const Situation& situation, bool may_move);
  /// Sends it. `saved`: what became of the status.
  void end_trace(const std::string& policy, const CycleOutcome& outcome, const base::Status& saved);
  void note_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) const;
  api::DeschedulerPolicyStatus status_after(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                            const Situation& situation, const CycleOutcome* outcome);
  kube::Requeue next_look(const api::DeschedulerPolicyStatus& next, const Situation& situation) const;
  GateVerdict gates_of(const std::string& policy) const;
  /// An Event when gates begin or cease to hold the policy up.
  void set_gates_condition(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                           const api::DeschedulerPolicyStatus& next) const;
  void note_trigger(const std::string& policy, api::TriggerKind trigger) const;
  void forget_earlier(const std::string& name, const std::string& uid);
  base::Status reject(const ObservedPolicy& seen, const std::string& problem);
  void notify_once(const api::DeschedulerPolicy& policy, const Situation& situation, const CycleOutcome* outcome) const;
  /// It leads and goes on, and the policy is as it was.
  bool is_wanted(const api::DeschedulerPolicy& policy) const;
  void carry_out(const api::DeschedulerPolicy& policy, CycleOutcome& outcome);
  /// It leads, the policy is the one that was planned, and neither did a cache go stale nor does a gate hold meanwhile:
  /// thousands of creations take minutes.
  bool may_go_on(const api::DeschedulerPolicy& policy) const;
  base::Status save(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                    const api::DeschedulerPolicyStatus& next);
  void publish(const api::ObjectMeta& policy, kube::Event event, std::string action) const;
  api::DeschedulerPolicy with_circuit(api::DeschedulerPolicy policy);

  Dependencies deps_;
  PolicyLock policy_lock_;
  // In turns only:
  PolicyMetrics metrics_;
  PolicyStatuses statuses_;
  PolicyTaints taints_;
  CycleTraces traces_;
  SituationObserver observer_;
  CyclePlanner planner_;
  EvacuationCreator creator_;
  std::function<bool()> is_stopping_;
  struct Verdicts {
    SeenVerdicts stored;  ///< with the policy's status
    SeenVerdicts judged;  ///< by the reconcile that is under way
  };
  std::map<std::string, Verdicts> verdicts_;  ///< by policy
  std::map<std::string, std::string> known_;  ///< UIDs of the policies that were reconciled, by name
};

}  // namespace controllers
