#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/circuit.hpp"
#include "controllers/policy/cycle/cycle_planner.hpp"
#include "controllers/policy/cycle/cycle_trace.hpp"
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
#include "kube/runtime/requeue.hpp"

namespace controllers {

/// Drives DeschedulerPolicies: plans a cycle when one is due, makes the Evacuations, writes the status once.
/// Observe → decide (decide.hpp, cycle.hpp) → act. reconcile() may be called by several threads, by each for another
/// policy: they take turns, but for a search, beside which other policies have theirs. One searches at a time.
class PolicyReconciler {
 public:
  using Dependencies = PolicyPorts;

  explicit PolicyReconciler(Dependencies dependencies);

  /// Sets the number of Evacuations created concurrently. Default 1. With more than one, the functions in Dependencies
  /// are called from several threads. REQUIRES: reconcile() is not running; `creators` is at least 1.
  void set_creators(int creators) { creator_.set_creators(creators); }
  /// Sets the function that sleeps before a retry of a 429 and returns false on shutdown. Called from several threads.
  /// By default retries are immediate. REQUIRES: reconcile() is not running.
  void set_pause(std::function<bool(base::Duration)> pause) { creator_.set_pause(std::move(pause)); }

  /// Sets the executor that runs the parts of a search on its own threads. REQUIRES: reconcile() is not running.
  void set_executor(strategies::Executor executor) { planner_.set_executor(std::move(executor)); }

  /// Sets a function that returns true on shutdown, which stops planning and creations. Called from several threads.
  /// Default: never. REQUIRES: reconcile() is not running.
  void set_stopping(std::function<bool()> is_stopping) { is_stopping_ = std::move(is_stopping); }

  /// Errors should be retried with backoff. kConflict: the policy changed since the cache saw it; the result of the
  /// cycle is kept in memory and written by the retry. kCancelled: may_act() returned false, or the cycle became
  /// obsolete because the policy changed or the process shuts down; nothing was created or remembered.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);

 private:
  /// REQUIRES: seen.plan_spec.
  base::Result<kube::Requeue> reconcile_valid(const ObservedPolicy& seen, const api::DeschedulerPolicy& policy,
                                              const api::DeschedulerPolicyStatus& known);
  /// An error leaves neither a trace nor a taken trigger.
  base::Result<CycleOutcome> run_due_cycle(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                           const Situation& situation, bool may_move);
  api::DeschedulerPolicyStatus status_after(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                            const Situation& situation, const CycleOutcome* outcome);
  kube::Requeue next_requeue(const api::DeschedulerPolicyStatus& next, const Situation& situation) const;
  GateVerdict gates_of(const std::string& policy) const;
  /// Publishes an Event when gates begin or cease to hold the policy.
  void set_gates_condition(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                           const api::DeschedulerPolicyStatus& next) const;
  void forget_previous(const std::string& name, const std::string& uid);
  base::Status reject(const ObservedPolicy& seen, const std::string& problem);
  void notify_once(const api::DeschedulerPolicy& policy, const Situation& situation, const CycleOutcome* outcome) const;
  /// Whether this replica leads and is not shutting down, and the policy is unchanged.
  bool is_wanted(const api::DeschedulerPolicy& policy) const;
  void carry_out(const api::DeschedulerPolicy& policy, CycleOutcome& outcome);
  /// Whether is_wanted(), no cache is stale and no gate holds. Checked between creations.
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
