#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/node_usage.hpp"

namespace strategies {

/// Sources, destinations and targets of move_pods().
struct MoveRules {
  std::vector<NodeUsage> sources;  ///< In the order in which they are relieved
  std::vector<NodeUsage> destinations;
  /// Maximum usage of a node per tracked resource, in percent; nullopt means the whole capacity. Those with thresholds
  /// come first.
  std::vector<std::optional<double>> target_percent;
  bool drain = false;  ///< Only in upstream mode: continue below the target while there is free capacity
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  std::function<bool(const api::Pod&)> wants;  ///< Only in upstream mode: filter of pods; if empty, all are wanted
  std::function<std::string(const NodeUsage&)> reason;

  /// Sets the targets of the first resources, and none for the others.
  void set_targets(const std::vector<double>& percents, std::size_t resources);
};

/// Eviction loop of LowNodeUtilization. Checks free capacity per node. A resource that the pod does not use never
/// blocks a move. A pod leaves only if that brings its node closer to the target and a destination can take it.
///
/// In upstream mode, upstream's loop of both utilization strategies (upstream-semantics.md#low-node-utilization step
/// 10, upstream-semantics.md#high-node-utilization step 6): free capacity is the sum over all destinations and only
/// decreases.
void move_pods(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, MoveRules rules);

}  // namespace strategies
