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
#include "controllers/policy/taints/soft_taints.hpp"
#include "controllers/policy/triggers.hpp"
#include "controllers/policy/usage/report.hpp"
#include "evictors/registry.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

class OnceRun;

/// Reconciles DeschedulerPolicies: plans a cycle when one is due, creates the Evacuations, and writes the status once.
/// Observe → decide (decide.hpp, cycle.hpp) → act. Several threads may call reconcile(), each for another policy. They
/// hold the policy lock, except during a search, so that other policies are reconciled meanwhile. Only one search runs
/// at a time.
class PolicyReconciler {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    const kube::Store<ObservedPolicy>& policies;
    const kube::Store<api::Evacuation>& evacuations;      ///< with the index kByPolicy
    std::function<scheduling::SnapshotInput()> snapshot;  ///< of the caches
    const evictors::EvictorRegistry& evictors;
    const CooldownLedger& cooldowns;
    std::function<bool()> may_act;  ///< false if not the leader (any more)
    kube::EventSink& events;
    base::Metrics& metrics;
    base::Log log;
    PolicyAudit& audit = no_policy_audit();
    /// Problems of a policy's Evacuations that their own status cannot show, for condition Degraded. May be empty.
    std::function<std::vector<std::string>(const std::string& policy)> stuck = {};
    /// Information that planning lacks, for condition Warnings. May be empty.
    std::function<std::vector<std::string>()> unknown = {};
    KeySource& keys = keys_in_memory();  ///< sign the Evacuations that it creates
    /// Names of stale caches. While there is one, no cycle runs, and condition Degraded reports it. May be empty. The
    /// component that detects a change enqueues the policies.
    std::function<std::vector<std::string>()> stale = {};
    /// Returns a heartbeat callback bound to the calling worker of reconcile(). Any thread may call it; it is called
    /// after each creation and during a search, so that the liveness probe does not take a long cycle for a hang. May
    /// be empty.
    std::function<std::function<void()>()> progress = {};
    /// Measured usage for a policy. Must not block. May be empty.
    std::function<UsageFigures(const std::string& policy)> usage = {};
    /// Verdict of a policy's gates. The gate poller enqueues the policy when it changes. Empty means no gate holds.
    std::function<GateVerdict(const std::string& policy)> gates = {};
    Triggers* triggers = nullptr;  ///< start cycles ahead of schedule; nullptr for none
    SoftTaints* taints = nullptr;  ///< nullptr: nodes get no soft taints
    /// Measures the duration of planning; nullptr selects `clock`.
    const base::Clock* steady = nullptr;
    /// Minor version n of Kubernetes 1.n; nullopt if unknown.
    std::optional<int> server_minor = {};
    /// Whether new pods get the placement hints of their Evacuations, so that plans may rely on them. Empty means they
    /// do not.
    std::function<bool()> hints_in_force = {};
    /// Namespaces whose new pods get no hints.
    std::vector<std::string> namespaces_without_hints = {};
    /// Receives the traces of cycles; nullptr disables tracing.
    SpanSink* spans = nullptr;
    /// If set, each policy has exactly one cycle, immediately and regardless of its interval or cron expression,
    /// which is reported here.
    OnceRun* once = nullptr;
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
  /// REQUIRES: the policy lock is held.
  base::Result<kube::Requeue> reconcile_in_turn(const api::ObjectKey& key);
  /// REQUIRES: seen.plan_spec.
  base::Result<kube::Requeue> reconcile_valid(const ObservedPolicy& seen, const api::DeschedulerPolicy& policy,
                                              const api::DeschedulerPolicyStatus& known);
  /// Begins the cycle's trace and takes the trigger that caused the cycle. On an error, drops the trace and returns the
  /// trigger.
  base::Result<CycleOutcome> plan_cycle(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                        const Situation& situation, bool may_move);
  base::Result<CycleOutcome> run_due_cycle(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                           const Situation& situation, bool may_move);
  /// Sends the trace. `saved`: result of writing the status.
  void end_trace(const std::string& policy, const CycleOutcome& outcome, const base::Status& saved);
  void note_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) const;
  api::DeschedulerPolicyStatus status_after(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                            const Situation& situation, const CycleOutcome* outcome);
  kube::Requeue next_look(const api::DeschedulerPolicyStatus& next, const Situation& situation) const;
  GateVerdict gates_of(const std::string& policy) const;
  /// Publishes an Event when gates begin or cease to hold the policy.
  void set_gates_condition(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                           const api::DeschedulerPolicyStatus& next) const;
  void note_trigger(const std::string& policy, api::TriggerKind trigger) const;
  void forget_earlier(const std::string& name, const std::string& uid);
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
