#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"
#include "planner/plan/planner.hpp"

namespace controllers {

/// Time after a Failed/Forbidden Evacuation in which no pod of its namespace is nominated.
inline constexpr base::minutes kForbiddenFor{10};

struct ForbiddenNamespace {
  std::string ns;
  std::string problem;  ///< for condition Degraded: the server's message, the end of the exclusion, and a remedy
};

/// Returns the namespaces in which the newest verdict of any Evacuation (of policies or manual) within the last
/// kForbiddenFor was Failed/Forbidden, without a success since. Ordered by name.
std::vector<ForbiddenNamespace> forbidden_namespaces(const Evacuations& evacuations, base::TimePoint now);

/// Options that every cycle of the operator plans with.
planner::PlanOptions cycle_options();

/// Plans one cycle. `id` becomes status.lastCycle.id. Callers set summary.duration and summary.created. Pure.
CycleOutcome make_plan(const planner::PlanInput& input, std::string id);

/// Content of status.nodeClasses: counts of each utilization strategy, and its nodes if it nominated no pod.
std::vector<api::NodeClasses> node_classes_of(const CycleOutcome& outcome);

}  // namespace controllers
