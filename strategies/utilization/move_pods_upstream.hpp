#pragma once

#include <string>
#include <vector>

#include "strategies/strategy.hpp"
#include "strategies/utilization/move_rules.hpp"

namespace strategies {

/// Upstream's eviction loop of both utilization strategies (upstream-semantics.md#low-node-utilization step 10,
/// upstream-semantics.md#high-node-utilization step 6). Free capacity is one pool of all destinations; it only shrinks.
void move_pods_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                        const std::vector<std::string>& resources, MoveRules rules);

}  // namespace strategies
