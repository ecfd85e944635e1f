#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/forbidden.hpp"
#include "planner/plan/plan_spec.hpp"
#include "planner/plan/planner.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/strategies/lifetime/restart_history.hpp"

namespace controllers {

/// Pods that have an Evacuation already, of any policy or manual; and other input of run_cycle().
struct KnownPods {
  std::vector<planning::PodIdentity> leaving;  ///< planned as gone from their nodes
  /// Planned as staying, and not nominated while their Evacuation exists: it has finished, or may never begin.
  std::vector<planning::PodIdentity> cooling;
  std::vector<ForbiddenNamespace> forbidden{};
  const strategies::RestartHistory* restarts = nullptr;  ///< earlier totals; nullptr for no restart history
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> usage{};  ///< measured usage
  // The members below are described in planning::PlanOptions and planning::PlanInput.
  std::optional<std::string> taint_value{};
  std::vector<std::string> pledged{};
  std::optional<int> server_minor{};
  bool placement_hints = false;
  std::vector<std::string> namespaces_without_hints{};  ///< empty selects the default
  std::function<base::Duration()> elapsed{};
  std::function<bool()> is_cancelled{};
  std::function<void()> heartbeat{};
  std::optional<base::Duration> time_limit{};
  strategies::Executor executor{};
  std::function<void(std::string_view strategy, bool begins)> on_strategy{};
  bool continues_plan = false;
  std::optional<api::RoundsStatus> rounds{};
  bool is_settled = true;
  bool may_time_out = true;
};

/// Classifies the pods of `evacuations` for planning by `policy`. Suspended ones, dry runs, and manual ones that have
/// not begun count as staying, regardless of their number. Exception: proposals of the policy itself (mode Manual)
/// count as leaving while they wait for approval, otherwise each cycle would propose more. An Evacuation that ended
/// because its pod did not exist (TargetGone) is ignored.
KnownPods known_pods(const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
                     const api::DeschedulerPolicy& policy);

/// Plans one cycle of a valid policy on a snapshot and formats the result for the status. Pure. The caller sets
/// summary.duration and summary.created.
CycleOutcome run_cycle(const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& snapshot,
                       const KnownPods& known, std::string id, base::TimePoint now);

/// Content of status.nodeClasses: counts of each utilization strategy, and its nodes if it nominated no pod.
std::vector<api::NodeClasses> node_classes_of(const CycleOutcome& outcome);

}  // namespace controllers
