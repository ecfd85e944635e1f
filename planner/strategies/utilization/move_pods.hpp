#pragma once

#include <string>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/move_rules.hpp"

namespace strategies {

/// The eviction loop of LowNodeUtilization. Free capacity is looked at node by node. Resources that no pod requests
/// stop nobody. A pod leaves only when that brings its node nearer to the target and some destination can take it.
/// REQUIRES: `thresholds` of the tracked resources, the first ones, have target percentages.
void move_pods(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, std::size_t thresholds, MoveRules rules);

/// Upstream's eviction loop of both utilization strategies (upstream-semantics.md#low-node-utilization step 10,
/// upstream-semantics.md#high-node-utilization step 6). Free capacity is one pool of all destinations; it only shrinks.
void move_pods_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                        const std::vector<std::string>& resources, MoveRules rules);

}  // namespace strategies
