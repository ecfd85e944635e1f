#pragma once

#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"

namespace strategies {

/// Chooses as upstream does, to the pod (upstream-semantics.md#topology-spread): every constraint by itself, only
/// evictable pods counted, minDomains not looked at, victims of the highest priority first.
void balance_upstream(const StrategyContext& context, NominationSink& sink,
                      const RemovePodsViolatingTopologySpreadConstraint::Args& args);

}  // namespace strategies
