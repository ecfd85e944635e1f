#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/cycle/cycle_trace.hpp"
#include "controllers/policy/cycle/policy_lock.hpp"
#include "controllers/policy/cycle/policy_taints.hpp"
#include "controllers/policy/cycle/unused_hints.hpp"
#include "controllers/policy/ports.hpp"
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

/// Collects the input of a cycle and plans it (controllers/policy/cycle.hpp). Callers must hold the policy lock; a
/// search releases it.
class CyclePlanner {
 public:
  /// `is_wanted`, called from several threads, returns false for obsolete plans. References must outlive this object.
  CyclePlanner(const PolicyPorts& ports, const PolicyTaints& taints, const CycleTraces& traces, PolicyLock& policy_lock,
               std::function<bool(const api::DeschedulerPolicy&)> is_wanted)
      : ports_(ports), taints_(taints), traces_(traces), policy_lock_(policy_lock), is_wanted_(std::move(is_wanted)) {}

  /// Sets the executor that runs the parts of a search. REQUIRES: plan() is not running.
  void set_executor(strategies::Executor executor) { executor_ = std::move(executor); }

  /// Checks whether hints of the policy's last plan were used. `evacuations` are those of the policy.
  void observe_hints(const api::DeschedulerPolicy& policy, const Evacuations& evacuations, base::TimePoint now);
  /// Plans, and places the soft taints that the plan relies on if it may move; if they cannot be written, plans again
  /// without them. Removes the moves of stopped strategies, and of a continued plan without progress. Returns
  /// kCancelled if the plan is obsolete.
  base::Result<CycleOutcome> plan(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                  const CycleTerms& terms);
  /// Restart history for the next leader, if a strategy counts restarts within a time.
  std::vector<api::RestartRecord> remembered_restarts(const strategies::StrategySpecs& specs) const;
  /// Call when the policy with this UID is gone.
  void forget(const std::string& uid) { resting_hints_.forget(uid); }

 private:
  /// Cycle of one policy.
  struct Cycle {
    const api::DeschedulerPolicy& policy;
    const planner::PlanSpec& spec;
    const CycleTerms& terms;
    CycleTrace* trace;  ///< nullptr: it is not traced
    bool searches;      ///< the plan may take long: other policies reconcile meanwhile
  };

  /// Everything that a plan depends on, and what the status reports of it beside the plan.
  struct Collected {
    planner::PlanInput input;
    UsageFigures figures;
    std::vector<std::string> problems;  ///< of namespaces in which the API server forbids evictions
    std::string hints_rest;             ///< why no hints are given although the webhook is in force; empty: they are
  };

  base::Result<CycleOutcome> plan_once(const Cycle& cycle);
  /// A search works on a snapshot of its own, put into `own`: other policies update the cached one meanwhile.
  const scheduling::ClusterSnapshot& take_snapshot(const Cycle& cycle, std::optional<scheduling::ClusterSnapshot>& own);
  Collected collect(const scheduling::ClusterSnapshot& snapshot, const Cycle& cycle);
  void add_progress(planner::PlanOptions& options, const Cycle& cycle) const;
  CycleOutcome make(Collected& collected, const Cycle& cycle) const;

  const PolicyPorts& ports_;
  const PolicyTaints& taints_;
  const CycleTraces& traces_;
  PolicyLock& policy_lock_;
  const std::function<bool(const api::DeschedulerPolicy&)> is_wanted_;
  strategies::Executor executor_;
  placement::HintBackoff resting_hints_;
  strategies::RestartHistory restarts_;  ///< updated in each cycle of any policy
  scheduling::SnapshotCache snapshots_;
};

}  // namespace controllers
