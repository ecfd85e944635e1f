#pragma once

/// The eviction loop that both utilization strategies share (upstream-semantics.md#utilization-loop).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "strategies/strategy.hpp"
#include "strategies/utilization/node_usage.hpp"

namespace strategies {

/// Who gives, who takes, and how far to go.
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

/// Runs the loop. Free capacity is one pool of all destinations; it only shrinks.
void move_pods(const Context& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, MoveRules rules);

}  // namespace strategies
