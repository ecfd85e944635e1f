#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/utilization/node_usage.hpp"

namespace strategies {

/// Which nodes give pods, which take them, and how far to go: the input of move_pods() and move_pods_upstream().
struct MoveRules {
  std::vector<NodeUsage> sources;  ///< in the order they are relieved
  std::vector<NodeUsage> destinations;
  /// Up to where a resource of a node may be used. Runs parallel to the tracked resources; absent: the whole capacity.
  std::vector<std::optional<double>> target_percent;
  bool drain = false;  ///< go on below the target, while there is free capacity
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  std::function<bool(const api::Pod&)> wants;  ///< further pods are left out; empty: all are wanted
  std::function<std::string(const NodeUsage&)> reason;
};

}  // namespace strategies
