#pragma once

#include <vector>

#include "planner/strategies/spread/component.hpp"
#include "planner/strategies/spread/spread_tree.hpp"

namespace strategies {

/// Returns, per node, the pods of a group and the capacity for further pods of any of its request sets, by all filters
/// of the scheduler except topology spread. Nodes excluded by a DoNotSchedule rule have no capacity. No pod is marked
/// movable. Without `node_fit`, all other nodes have unlimited capacity.
std::vector<NodePods> pods_and_capacity(const StrategyContext& context, const SpreadMembers& members, bool node_fit);

}  // namespace strategies
