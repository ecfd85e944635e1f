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

/// Pods that have an Evacuation already, of any policy or person.
struct KnownPods {
  std::vector<planning::PodIdentity> leaving;  ///< as good as gone from their nodes
  std::vector<planning::PodIdentity> cooling;  ///< not asked again as long as their Evacuation is kept, and counted as
                                               ///< staying: it is finished, or nobody knows whether it ever begins
  std::vector<ForbiddenNamespace> forbidden{};
  const strategies::RestartHistory* restarts = nullptr;                   ///< earlier totals; nullptr: nobody looked
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> usage{};  ///< what was measured
  std::optional<std::string> taint_value{};                               ///< as in PlanOptions
  std::vector<std::string> pledged{};                                     ///< the same
  std::optional<int> server_minor{};                                      ///< as in PlanInput
  bool placement_hints = false;                                           ///< as in PlanOptions, and so are
  std::vector<std::string> namespaces_without_hints{};                    ///< these; empty: the usual ones
  std::function<base::Duration()> elapsed{};                              ///< as in planning::PlanOptions, and so
  std::function<bool()> is_cancelled{};                                   ///< is this, and
  std::function<void()> heartbeat{};                                      ///< this, and
  std::optional<base::Duration> time_limit{};                             ///< this, and
  strategies::Executor executor{};                                        ///< this, and
  std::function<void(std::string_view strategy, bool begins)> on_strategy{};  ///< this, and
  bool continues_plan = false;                                                ///< this
  std::optional<api::RoundsStatus> rounds{};                                  ///< as in planning::PlanInput, and so
  bool is_settled = true;                                                     ///< is this, and
  bool may_time_out = true;                                                   ///< this
};

/// The pods of these Evacuations, as `policy` plans with them: what is suspended, a dry run, or manual and has not
/// begun moves nothing, however many somebody makes; only what the policy itself proposes (mode Manual) counts as
/// leaving while it waits for its person, or each cycle would propose more. One that ended because its pod was not
/// there (TargetGone) says nothing about any pod.
KnownPods known_pods(const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
                     const api::DeschedulerPolicy& policy);

/// Plans one cycle of a valid policy, as it was parsed when it was decoded, on a snapshot and words the result for the
/// status. Pure. summary.duration and summary.created are left to the caller.
CycleOutcome run_cycle(const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& snapshot,
                       const KnownPods& known, std::string id, base::TimePoint now);

/// What status.nodeClasses has of the cycle: counts of each utilization strategy, and nodes where it moves nothing.
std::vector<api::NodeClasses> node_classes_of(const CycleOutcome& outcome);

}  // namespace controllers
