#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/utilization/node_usage.hpp"

namespace strategies {

/// Sources, destinations and targets: the input of move_pods() and move_pods_upstream().
struct MoveRules {
  std::vector<NodeUsage> sources;  ///< In the order in which they are relieved
  std::vector<NodeUsage> destinations;
  /// Maximum usage of a node per tracked resource, in percent; nullopt means the whole capacity.
  std::vector<std::optional<double>> target_percent;
  bool drain = false;  ///< Continue below the target while there is free capacity
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  std::function<bool(const api::Pod&)> wants;  ///< Filter of pods; if empty, all pods are wanted
  std::function<std::string(const NodeUsage&)> reason;
};

}  // namespace strategies
