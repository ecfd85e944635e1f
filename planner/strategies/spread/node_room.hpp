#pragma once

#include <vector>

#include "planner/strategies/spread/component.hpp"
#include "planner/strategies/spread/spread_tree.hpp"

namespace strategies {

/// By node: the pods of a group, and capacity for further ones of any of its sizes by all of the scheduler's filters
/// but topology spread. A node that a DoNotSchedule rule leaves out has no room. No pod is movable. Without `node_fit`
/// every other node takes any number.
std::vector<NodePods> pods_and_room(const StrategyContext& context, const SpreadMembers& members, bool node_fit);

}  // namespace strategies
