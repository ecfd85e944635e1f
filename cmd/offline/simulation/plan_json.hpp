#pragma once

#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "planner/plan/planner.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace cmd {

/// Encodes a plan as JSON: policy, now, nodes, pods, and the lists moves, refusals, refused, strategies, balance,
/// utilization and warnings.
api::Json plan_json(const api::DeschedulerPolicy& policy, const planner::Plan& plan, base::TimePoint now);

/// Encodes problems of the input: {total, first: [{object, field, message}]}.
api::Json problems_json(const scheduling::InputProblems& problems);

}  // namespace cmd
