#pragma once

#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "controllers/policy/decide.hpp"
#include "planner/plan/planner.hpp"

namespace controllers {

/// Options that every cycle of the operator plans with.
planner::PlanOptions cycle_options();

/// Plans one cycle and words the result for the status. Pure. `id` becomes status.lastCycle.id. Callers set
/// summary.duration and summary.created.
CycleOutcome make_plan(const planner::PlanInput& input, std::string id);

/// Content of status.nodeClasses: counts of each utilization strategy, and its nodes if it nominated no pod.
std::vector<api::NodeClasses> node_classes_of(const CycleOutcome& outcome);

}  // namespace controllers
