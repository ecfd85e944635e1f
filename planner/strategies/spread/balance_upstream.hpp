#pragma once

#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"

namespace strategies {

/// Chooses exactly the pods that upstream chooses (upstream-semantics.md#topology-spread): each constraint separately,
/// only evictable pods counted, minDomains ignored, victims of the highest priority first.
void balance_upstream(const StrategyContext& context, NominationSink& sink,
                      const RemovePodsViolatingTopologySpreadConstraint::Args& args);

}  // namespace strategies
