#pragma once

#include <set>
#include <string>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "controllers/policy_decide.hpp"
#include "scheduling/cluster_snapshot.hpp"

namespace controllers {

/// Plans one cycle of a valid policy on a snapshot and words the result for the status. Pure. `taken` are the UIDs of pods that
/// have an Evacuation already (of any policy or person). summary.duration and summary.created are left to the caller.
CycleOutcome run_cycle(const api::DeschedulerPolicy& policy, const scheduling::ClusterSnapshot& snapshot,
                       const std::set<std::string>& taken, std::string id, base::TimePoint now);

}  // namespace controllers
