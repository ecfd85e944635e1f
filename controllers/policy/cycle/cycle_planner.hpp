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
#include "controllers/policy/cycle.hpp"
#include "controllers/policy/cycle/cycle_traces.hpp"
#include "controllers/policy/cycle/policy_lock.hpp"
#include "controllers/policy/cycle/policy_taints.hpp"
#include "controllers/policy/cycle/unused_hints.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/ports.hpp"
#include "planner/plan/plan_spec.hpp"
#include "planner/snapshot/snapshot_cache.hpp"
#include "planner/strategies/lifetime/restart_history.hpp"

namespace controllers {

/// What a cycle is planned under, beside its policy.
struct CycleTerms {
  base::TimePoint now{};    ///< when it begins
  bool may_move = false;    ///< something is made of the plan
  bool continues = false;   ///< an earlier plan goes on after one of its waves
  bool is_settled = false;  ///< what the policy moved is over
};

/// As in status.lastCycle.id.
std::string cycle_id(const api::DeschedulerPolicy& policy, base::TimePoint now);

/// A strategy is among them whose plan may take much longer than a look at all pods.
bool searches(const strategies::StrategySpecs& specs);

/// Gathers what a cycle is planned on, and plans it (controllers/policy/cycle.hpp). To be called in turns; a search
/// gives the turn away while it runs.
class CyclePlanner {
 public:
  struct Dependencies {
    PolicyClocks clocks;
    const PolicyCaches& caches;
    const PolicyMeasurements& measured;
    const PolicySteering& steering;
    base::Metrics& metrics;
    const PolicyTaints& taints;
    const CycleTraces& traces;
    PolicyLock& policy_lock;
    /// Returns false if the policy's plan is not wanted any more. Called from several threads.
    std::function<bool(const api::DeschedulerPolicy&)> is_wanted;
  };

  explicit CyclePlanner(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// Who runs the parts of a search from here on. REQUIRES: not while plan() runs.
  void set_executor(strategies::Executor executor) { executor_ = std::move(executor); }

  /// Whether hints of the policy's last plan were taken: later plans count on that. `evacuations`: the policy's.
  void look_at_hints(const api::DeschedulerPolicy& policy,
                     const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, base::TimePoint now);
  /// Plans, and puts the soft taints that the plan counts on onto the nodes if it may move; plans without any if these
  /// may not be written. Moves are left out of strategies that have stopped, and of a plan that does not get on.
  /// kCancelled: nobody wants it.
  base::Result<CycleOutcome> plan(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                  const CycleTerms& terms);
  /// What the next leader must know of restarts, if one of the strategies counts those within a time.
  std::vector<api::RestartRecord> remembered_restarts(const strategies::StrategySpecs& specs) const;
  /// The policy of that UID is gone.
  void forget(const std::string& uid) { resting_hints_.forget(uid); }

 private:
  /// Of one policy's cycle.
  struct Cycle {
    const api::DeschedulerPolicy& policy;
    const planning::PlanSpec& spec;
    const CycleTerms& terms;
    CycleTrace* trace;  ///< nullptr: it is not traced
    bool searches;      ///< the plan may take long: other policies reconcile meanwhile
  };

  /// Everything that a plan depends on, and what the status reports of it beside the plan.
  struct Collected {
    planning::PlanInput input;
    UsageFigures figures;
    std::vector<std::string> problems;  ///< of namespaces in which the API server forbids evictions
    std::string hints_rest;             ///< why no hints are given although the webhook is in force; empty: they are
  };

  base::Result<CycleOutcome> plan_once(const Cycle& cycle);
  /// A search works on a snapshot of its own, put into `own`: other policies update the cached one meanwhile.
  const scheduling::ClusterSnapshot& take_snapshot(const Cycle& cycle, std::optional<scheduling::ClusterSnapshot>& own);
  Collected collect(const scheduling::ClusterSnapshot& snapshot, const Cycle& cycle);
  void add_taints(planning::PlanOptions& options, const Cycle& cycle) const;
  void add_progress(planning::PlanOptions& options, const Cycle& cycle) const;
  CycleOutcome make(Collected& collected, const Cycle& cycle) const;
  base::Result<CycleOutcome> judge(CycleOutcome outcome, const Cycle& cycle) const;
  void add_remarks(CycleOutcome& outcome, const std::string& policy) const;

  Dependencies deps_;
  strategies::Executor executor_;
  placement::RestingHints resting_hints_;
  strategies::RestartHistory restarts_;  ///< looked at in each cycle of any policy
  scheduling::SnapshotCache snapshots_;
};

}  // namespace controllers
