#pragma once

#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/forbidden.hpp"
#include "planning/plan_spec.hpp"
#include "scheduling/snapshot/cluster_snapshot.hpp"
#include "strategies/lifetime/restart_history.hpp"

namespace controllers {

/// Pods that have an Evacuation already, of any policy or person.
struct KnownPods {
  std::vector<api::PodUid> leaving;  ///< unfinished: as good as gone from their nodes
  std::vector<api::PodUid> cooling;  ///< finished, not yet deleted by its TTL: not asked again until then
  std::vector<ForbiddenNamespace> forbidden{};
  const strategies::RestartHistory* restarts = nullptr;  ///< earlier totals; nullptr: nobody looked
};

/// Plans one cycle of a valid policy, as it was parsed when it was decoded, on a snapshot and words the result for the
/// status. Pure. summary.duration and summary.created are left to the caller.
CycleOutcome run_cycle(const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& snapshot,
                       const KnownPods& known, std::string id, base::TimePoint now);

}  // namespace controllers
