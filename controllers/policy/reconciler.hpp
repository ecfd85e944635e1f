#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/admission/cooldown.hpp"
#include "controllers/placement/unused_hints.hpp"
#include "controllers/policy/audit.hpp"
#include "controllers/policy/balance/rounds.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/waves.hpp"
#include "controllers/signing/keys.hpp"
#include "controllers/taints/soft_taints.hpp"
#include "controllers/tracing/cycle_trace.hpp"
#include "controllers/triggers/triggers.hpp"
#include "controllers/usage/report.hpp"
#include "evictors/registry.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/store.hpp"
#include "scheduling/snapshot/snapshot_keeper.hpp"
#include "strategies/lifetime/restart_history.hpp"

namespace controllers {

struct KnownPods;
class OnceRun;

/// Index names that the reconciler asks of the Evacuation store.
inline constexpr std::string_view kByPolicy = "policy";

/// A lock for which one waits with a sign of life now and then. Not std::timed_mutex, which GCC 12's ThreadSanitizer
/// does not know.
class TurnLock {
 public:
  /// Calls `waiting` whenever `patience` has passed in vain.
  void lock(base::Duration patience, const std::function<void()>& waiting) {
    std::unique_lock guard(mutex_);
    while (is_taken_) {
      if (free_.wait_for(guard, patience) == std::cv_status::timeout) waiting();
    }
    is_taken_ = true;
  }
  void unlock() {
    const std::scoped_lock guard(mutex_);
    is_taken_ = false;
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool is_taken_ = false;
};

/// Drives DeschedulerPolicies: plans a cycle when one is due, makes the Evacuations, writes the status once.
/// Observe → decide (decide.hpp, cycle.hpp) → act. reconcile() may be called by several threads, by each for another
/// policy: they take turns, but for a search, beside which other policies have theirs. One searches at a time.
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
    std::function<bool()> may_act;  ///< false: not the leader (any more)
    kube::EventSink& events;
    base::Metrics& metrics;
    base::Log log;
    PolicyAudit& audit = no_policy_audit();
    /// Problems of a policy's Evacuations that they cannot tell themselves, for condition Degraded. May be empty.
    std::function<std::vector<std::string>(const std::string& policy)> stuck = {};
    /// What plans have to do without, for condition Warnings. May be empty.
    std::function<std::vector<std::string>()> unknown = {};
    KeySource& keys = keys_in_memory();  ///< with which it signs the Evacuations that it makes
    /// Caches that the server does not feed any more: while there is one, no cycle runs, and condition Degraded says
    /// so. May be empty. Whoever knows when that changes enqueues the policies.
    std::function<std::vector<std::string>()> stale = {};
    /// Asked in the thread of reconcile() for what is told, by any thread, that its work gets on: after each creation
    /// and in a search, so that a long cycle is not taken for one that hangs. May be empty.
    std::function<std::function<void()>()> progress = {};
    /// What was measured for a policy; never waits. May be empty.
    std::function<UsageFigures(const std::string& policy)> usage = {};
    /// What a policy's gates say. Whoever knows when that changes enqueues the policy. Empty: no gate holds.
    std::function<GateVerdict(const std::string& policy)> gates = {};
    Triggers* triggers = nullptr;  ///< what makes cycles run before their time; nullptr: nothing
    SoftTaints* taints = nullptr;  ///< nullptr: no node gets any
    /// The server is Kubernetes 1.`server_minor`; nullopt: it does not say.
    std::optional<int> server_minor = {};
    /// New pods are given the hints of their Evacuations: plans may count on that. Empty: they are not.
    std::function<bool()> hints_in_force = {};
    /// Namespaces whose new pods get no hints.
    std::vector<std::string> namespaces_without_hints = {};
    /// Where the traces of cycles go; nullptr: there are none.
    SpanSink* spans = nullptr;
    /// Not nullptr: each policy has one cycle, now, whatever its interval or cron expression says, and this is told.
    OnceRun* once = nullptr;
  };

  explicit PolicyReconciler(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// So many Evacuations of a plan are created at a time from here on; until then one. Then all that Dependencies name
  /// is called from several threads. REQUIRES: not while reconcile() runs; `creators` is at least 1.
  void set_creators(int creators) { creators_ = creators; }
  /// How a creator waits until a server that has too much to do (429) takes more; false: shutting down, give up. Called
  /// from several threads. Until then it tries again at once. REQUIRES: not while reconcile() runs.
  void set_pause(std::function<bool(base::Duration)> pause) { pause_ = std::move(pause); }

  /// Who runs the parts of a search from here on: side by side, on threads of its own. REQUIRES: not while reconcile()
  /// runs.
  void set_executor(strategies::Executor executor) { executor_ = std::move(executor); }

  /// True: shutting down. A plan in the making is given up, and so are creations. Called from several threads. Until
  /// then nobody shuts down. REQUIRES: not while reconcile() runs.
  void set_stopping(std::function<bool()> is_stopping) { is_stopping_ = std::move(is_stopping); }

  /// Errors are worth a retry with back-off. kConflict: the policy changed since the cache saw it; what the cycle did
  /// is remembered and is written at the next try. kCancelled: may_act() said no, or nobody wants what was being
  /// planned: the policy is another one by now, or this is the end; nothing came of the cycle, nor is it remembered.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);

 private:
  /// What a policy's next step depends on, as it is now.
  struct Situation {
    base::TimePoint now{};
    GateVerdict gates;
    std::vector<std::shared_ptr<const api::Evacuation>> evacuations;  ///< the policy's
    WaveProgress wave;
    WaveState moved = WaveState::kNone;  ///< where a strategy works in rounds: what the last cycle made
    Settlement settled;
    CycleTiming timing;
    std::vector<std::string> stale;  ///< caches

    bool is_moving() const { return wave.state == WaveState::kUnderWay || moved == WaveState::kUnderWay; }
    /// While a wave is under way its holes are not free yet. A plan that moves nothing does no harm.
    bool is_put_off(api::PolicyMode mode) const {
      const bool is_held = wave.state == WaveState::kUnderWay && mode != api::PolicyMode::kDryRun;
      return timing.due && (!stale.empty() || is_held);
    }
  };

  class Turn;
  class Intermission;
  using Progress = std::function<void()>;
  void begin_turn(Progress progress);
  /// In its turn.
  base::Result<kube::Requeue> reconcile_in_turn(const api::ObjectKey& key);
  /// REQUIRES: seen.plan_spec.
  base::Result<kube::Requeue> reconcile_valid(const ObservedPolicy& seen, const api::DeschedulerPolicy& policy,
                                              const api::DeschedulerPolicyStatus& known);
  Situation look(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec, GateVerdict gates);
  void begin_trace(const api::DeschedulerPolicy& policy, base::TimePoint now);
  /// Of the policy's cycle that runs; nullptr: none does, or it is not traced.
  CycleTrace* trace_of(const std::string& policy) const;
  /// Sends it. `saved`: what became of the status.
  void end_trace(const std::string& policy, const CycleOutcome& outcome, const base::Status& saved);
  void link_trace(const std::string& policy, std::string_view made) const;
  base::Result<CycleOutcome> run_due_cycle(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                           const Situation& situation, bool may_move);
  api::DeschedulerPolicyStatus status_after(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                            const Situation& situation, const CycleOutcome* outcome);
  kube::Requeue next_look(const api::DeschedulerPolicyStatus& next, const Situation& situation) const;
  /// The timing by the schedule, and by what happened meanwhile.
  CycleTiming timing_with_triggers(const api::DeschedulerPolicy& policy, bool continues, base::TimePoint now);
  CycleTiming timing_once(const api::DeschedulerPolicy& policy, base::TimePoint now) const;
  GateVerdict gates_of(const std::string& policy) const;
  /// An Event when gates begin or cease to hold the policy up.
  void tell_gates(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                  const api::DeschedulerPolicyStatus& next) const;
  void note_trigger(const std::string& policy, api::TriggerKind trigger);
  kube::Requeue look_again(std::optional<base::TimePoint> next, std::optional<base::TimePoint> other) const;
  void forget_earlier(const std::string& name, const std::string& uid);
  std::vector<std::string> stale_caches() const;
  base::Status reject(const ObservedPolicy& seen, const std::string& problem);
  void tell_once(const api::DeschedulerPolicy& policy, const Situation& situation, const CycleOutcome* outcome) const;
  CycleOutcome plan(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec, bool continues,
                    bool is_settled, base::TimePoint now);
  CycleOutcome plan_on(const scheduling::ClusterSnapshot& snapshot, const api::DeschedulerPolicy& policy,
                       const planning::PlanSpec& spec, bool continues, bool is_settled, base::TimePoint now);
  CycleOutcome search(const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& snapshot, KnownPods& known,
                      std::string id, base::TimePoint now);
  /// Without the moves of strategies that have stopped, or of a plan that does not get on. kCancelled: nobody wants it.
  base::Result<CycleOutcome> judged_plan(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                         bool continues, bool is_settled, base::TimePoint now);
  /// REQUIRES: a strategy works in rounds.
  Settlement settlement(const api::DeschedulerPolicy& policy, const Situation& situation) const;
  /// It leads and goes on, and the policy is as it was.
  bool is_wanted(const api::DeschedulerPolicy& policy) const;
  /// With its soft taints on the nodes if it may move; without any if these may not be written.
  base::Result<CycleOutcome> plan_on_nodes(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                           bool may_move, bool continues, bool is_settled, base::TimePoint now);
  bool place_taints(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome);
  void stop_emptying(const std::string& policy) const;
  void drop_taints(const std::string& policy) const;
  std::vector<std::string> pledged_taints(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                          base::TimePoint now) const;
  void pledge_taints(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                     const CycleOutcome& outcome) const;
  void carry_out(const api::DeschedulerPolicy& policy, CycleOutcome& outcome);
  void create_all(const api::DeschedulerPolicy& policy, const signing::Key& key, CycleOutcome& outcome);
  bool is_refused(const std::string& ns, const CycleOutcome& outcome);
  void remove_expired(const api::ObjectKey& key) const;
  bool waits_for_turn(const api::DeschedulerPolicy& policy, const base::Error& error, int tries);
  bool create_one(const api::DeschedulerPolicy& policy, const api::PlannedMove& move, api::Evacuation evacuation,
                  const signing::Key& key, CycleOutcome& outcome);
  bool note_created(const api::Evacuation& wanted, const base::Result<std::string>& made, base::TimePoint sent,
                    CycleOutcome& outcome);
  bool clocks_agree(base::TimePoint sent, std::string_view made, CycleOutcome& outcome);
  /// It leads, the policy is the one that was planned, and neither did a cache go stale nor does a gate hold meanwhile:
  /// thousands of creations take minutes.
  bool may_go_on(const api::DeschedulerPolicy& policy) const;
  base::Status save(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                    const api::DeschedulerPolicyStatus& next);
  void publish(const api::ObjectMeta& policy, kube::Event event, std::string action) const;
  api::DeschedulerPolicy with_own_writes(api::DeschedulerPolicy policy) const;
  api::DeschedulerPolicy with_circuit(api::DeschedulerPolicy policy);
  /// What the next leader must know of restarts, if one of the strategies counts those within a time.
  std::vector<api::RestartRecord> remembered_restarts(const strategies::StrategySpecs& specs) const;
  void publish_imbalance(const api::DeschedulerPolicy& policy, const std::vector<api::BalanceRow>& rows) const;
  void publish_status(const std::string& name, const api::DeschedulerPolicyStatus& status) const;
  void count_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome);

  Dependencies deps_;
  TurnLock turn_;              ///< held while a policy has its turn: guards all below but what says otherwise
  bool is_searching_ = false;  ///< some policy is, out of its turn
  Progress progress_;          ///< of whoever has the turn; never empty then
  /// The newest status of each policy (by UID) that we decided: the cache lags behind, and a cycle must not run twice
  /// for it.
  struct OwnStatus {
    api::DeschedulerPolicyStatus status;
    bool stored = false;  ///< false: the write failed
  };
  std::map<std::string, OwnStatus> own_;
  /// Of cycles that run, by policy name; changed in turns only.
  std::map<std::string, std::unique_ptr<CycleTrace>> traces_;
  strategies::Executor executor_;
  int creators_ = 1;
  std::function<bool(base::Duration)> pause_;
  std::function<bool()> is_stopping_;
  std::mutex creating_;        ///< held by the creators while they write down what came of it
  base::Duration paused_{};    ///< guarded by creating_: what all creators have waited in this cycle
  std::string clock_warning_;  ///< of the newest Evacuation that was made; empty: the clocks agree
  placement::RestingHints resting_hints_;
  std::map<std::string, std::string> known_;  ///< UIDs of the policies that were reconciled, by name
  strategies::RestartHistory restarts_;       ///< looked at in each cycle of any policy
  scheduling::SnapshotKeeper snapshots_;
};

}  // namespace controllers
