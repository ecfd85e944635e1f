#pragma once

/// The eviction loop of LowNodeUtilization with its faults fixed: free capacity is looked at node by node, not as one
/// pool; resources that no pod asks for stop nobody; a pod leaves only when that brings its node nearer to the target
/// and some node can take it.

#include <string>
#include <vector>

#include "strategies/utilization/upstream_loop.hpp"

namespace strategies {

/// REQUIRES: `thresholds` of the tracked resources, the first ones, have target percentages.
void move_pods_to_destinations(const Context& context, NominationSink& sink, const UsageView& usage,
                               const std::vector<std::string>& resources, std::size_t thresholds, MoveRules rules);

/// Mean of the percentages: how full a node is, whatever the units. A resource that it does not publish counts as 0.
double mean_fullness(const NodeUsage& node, const std::vector<std::string>& resources);

}  // namespace strategies
