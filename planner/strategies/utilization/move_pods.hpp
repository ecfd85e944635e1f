#pragma once

#include <string>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/move_rules.hpp"

namespace strategies {

/// Eviction loop of LowNodeUtilization. Checks free capacity per node. A resource that the pod does not use never
/// blocks a move. A pod leaves only if that brings its node closer to the target and a destination can take it.
/// REQUIRES: the first `thresholds` tracked resources have target percentages.
void move_pods(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, std::size_t thresholds, MoveRules rules);

/// Upstream's eviction loop of both utilization strategies (upstream-semantics.md#low-node-utilization step 10,
/// upstream-semantics.md#high-node-utilization step 6). Free capacity is the sum over all destinations and only
/// decreases.
void move_pods_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                        const std::vector<std::string>& resources, MoveRules rules);

}  // namespace strategies
