#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/forbidden.hpp"
#include "planning/plan_spec.hpp"
#include "planning/planner.hpp"
#include "scheduling/snapshot/cluster_snapshot.hpp"
#include "strategies/lifetime/restart_history.hpp"

namespace controllers {

/// Pods that have an Evacuation already, of any policy or person.
struct KnownPods {
  std::vector<planning::PodIdentity> leaving;  ///< unfinished: as good as gone from their nodes
  std::vector<planning::PodIdentity> cooling;  ///< finished, not yet deleted by its TTL: not asked again until then
  std::vector<ForbiddenNamespace> forbidden{};
  const strategies::RestartHistory* restarts = nullptr;                   ///< earlier totals; nullptr: nobody looked
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> usage{};  ///< what was measured
  std::optional<int> server_minor{};                                      ///< as in PlanInput
};

/// The pods of these Evacuations. One that ended because its pod was not there (TargetGone) says nothing about any pod.
KnownPods known_pods(const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations);

/// Plans one cycle of a valid policy, as it was parsed when it was decoded, on a snapshot and words the result for the
/// status. Pure. summary.duration and summary.created are left to the caller.
CycleOutcome run_cycle(const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& snapshot,
                       const KnownPods& known, std::string id, base::TimePoint now);

}  // namespace controllers
