#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/admission/cooldown.hpp"
#include "controllers/policy/cycle.hpp"
#include "controllers/policy/cycle/cycle_traces.hpp"
#include "controllers/policy/cycle/policy_lock.hpp"
#include "controllers/policy/cycle/policy_taints.hpp"
#include "controllers/policy/cycle/unused_hints.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/usage/report.hpp"
#include "kube/runtime/store.hpp"
#include "planner/plan/plan_spec.hpp"
#include "planner/snapshot/snapshot_cache.hpp"
#include "planner/strategies/lifetime/restart_history.hpp"

namespace controllers {

/// Conditions of a cycle besides its policy.
struct CycleTerms {
  base::TimePoint now{};    ///< start of the cycle
  bool may_move = false;    ///< whether the moves are carried out
  bool continues = false;   ///< whether it continues an earlier plan after one of its waves
  bool is_settled = false;  ///< whether the policy's earlier moves are complete
};

/// ID of the cycle, as in status.lastCycle.id.
std::string cycle_id(const api::DeschedulerPolicy& policy, base::TimePoint now);

/// Whether a strategy searches, i.e. its planning may take much longer than one pass over all pods.
bool searches(const strategies::StrategySpecs& specs);

/// Collects the input of a cycle and plans it (controllers/policy/cycle.hpp). Callers must hold the policy lock. A
/// search releases it while it runs.
class CyclePlanner {
 public:
  struct Dependencies {
    const base::Clock& clock;
    const kube::Store<api::Evacuation>& evacuations;
    std::function<scheduling::SnapshotInput()> snapshot;  ///< of the caches
    const CooldownLedger& cooldowns;
    base::Metrics& metrics;
    const PolicyTaints& taints;
    const CycleTraces& traces;
    PolicyLock& policy_lock;
    /// Returns false if the policy's plan is obsolete. Called from several threads.
    std::function<bool(const api::DeschedulerPolicy&)> is_wanted;
    // See PolicyReconciler::Dependencies, also for which of these may be empty:
    std::function<std::vector<std::string>(const std::string& policy)> stuck;
    std::function<std::vector<std::string>()> unknown;
    std::function<UsageFigures(const std::string& policy)> usage;
    const base::Clock* steady;
    std::optional<int> server_minor;
    std::function<bool()> hints_in_force;
    std::vector<std::string> namespaces_without_hints;
  };

  explicit CyclePlanner(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// Sets the executor that runs the parts of a search. REQUIRES: plan() is not running.
  void set_executor(strategies::Executor executor) { executor_ = std::move(executor); }

  /// Checks whether hints of the policy's last plan were used, on which later plans depend. `evacuations` are those of
  /// the policy.
  void look_at_hints(const api::DeschedulerPolicy& policy,
                     const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, base::TimePoint now);
  /// Plans, and places the soft taints that the plan relies on if it may move; if they cannot be written, plans again
  /// without them. Removes the moves of stopped strategies, and of a continued plan without progress. Returns
  /// kCancelled if the plan is obsolete.
  base::Result<CycleOutcome> plan(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                  const CycleTerms& terms);
  /// Restart history for the next leader, if a strategy counts restarts within a time.
  std::vector<api::RestartRecord> remembered_restarts(const strategies::StrategySpecs& specs) const;
  /// Call when the policy with this UID is gone.
  void forget(const std::string& uid) { resting_hints_.forget(uid); }

 private:
  /// Cycle of one policy.
  struct Cycle {
    const api::DeschedulerPolicy& policy;
    const planning::PlanSpec& spec;
    const CycleTerms& terms;
    CycleTrace* trace;  ///< nullptr if it is not traced
  };

  base::Result<CycleOutcome> judged_plan(const Cycle& cycle);
  CycleOutcome plan_on_caches(const Cycle& cycle);
  scheduling::ClusterSnapshot own_snapshot(const Cycle& cycle) const;
  const scheduling::ClusterSnapshot& kept_snapshot(const Cycle& cycle);
  CycleOutcome plan_on(const scheduling::ClusterSnapshot& snapshot, const Cycle& cycle);
  KnownPods known(const scheduling::ClusterSnapshot& snapshot, const Cycle& cycle);
  void attend(KnownPods& known, const Cycle& cycle) const;
  CycleOutcome search(const scheduling::ClusterSnapshot& snapshot, KnownPods& known, const Cycle& cycle);
  void add_remarks(CycleOutcome& outcome, const std::string& policy) const;

  Dependencies deps_;
  strategies::Executor executor_;
  placement::RestingHints resting_hints_;
  strategies::RestartHistory restarts_;  ///< updated in each cycle of any policy
  scheduling::SnapshotCache snapshots_;
};

}  // namespace controllers
