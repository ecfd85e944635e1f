#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/strict_object.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/scheduling_names.hpp"

namespace strategies {

/// Maximum number of samples that are kept per node, which is the limit of hysteresis.of.
inline constexpr std::int32_t kMaxHysteresisSamples = 20;

/// Arguments args.usage: the usage source of a strategy.
struct UsageArgs {
  UsageNeed need;
  bool forecast = true;  ///< Use the higher of measured and forecast usage, where a trusted forecast exists
  /// Number of the last `of` samples that must exceed the threshold, in addition to the smoothed value, before a node
  /// becomes a source.
  std::int32_t samples = 3;
  std::int32_t of = 5;
  /// Use soft taints so that the scheduler prefers nodes that are not loaded.
  bool soft_taint = false;
  friend bool operator==(const UsageArgs&, const UsageArgs&) = default;
};

/// Returns what the strategy measures, or nullopt without `usage`.
std::optional<UsageNeed> need_of(const std::optional<UsageArgs>& usage);

/// Reads `usage`: {source, forecast, hysteresis: {samples, of}, softTaint}. Returns nullopt if absent: usage by
/// requests.
std::optional<UsageArgs> read_usage(api::StrictObject& args);

/// Reads upstream's `metricsUtilization` (upstream-semantics.md#measured-usage). Returns nullopt if absent.
std::optional<UsageNeed> read_metrics_utilization(api::StrictObject& args);

/// Returns the rule for the resource names that thresholds may contain.
ResourceRule resource_rule_of(const std::optional<UsageNeed>& need);

/// Upstream's thresholds, as percentages from 0 to 100 or as deviations from the mean.
struct Thresholds {
  Percentages low;   ///< A node at or below all of them is underutilized
  Percentages high;  ///< A node above any of them is overutilized; same resources as `low`
  bool use_deviation = false;
  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};
/// Reads thresholds, targetThresholds and useDeviationThresholds.
Thresholds read_thresholds(api::StrictObject& args, ResourceRule rule);

/// Entry of args.nodePools: nodes that are balanced among each other.
struct NodePool {
  std::string name;
  std::optional<api::LabelSelector> nodes;  ///< nullopt means all
  Thresholds thresholds;
  friend bool operator==(const NodePool&, const NodePool&) = default;
};
/// Thresholds of a strategy, by pool.
struct PoolThresholds {
  std::vector<NodePool> pools;
  Thresholds own;  ///< For nodes in no pool; if empty, those nodes are left alone
  friend bool operator==(const PoolThresholds&, const PoolThresholds&) = default;

  /// Returns the resources of `own`, or else of the first pool.
  std::vector<std::string> resources() const;
};
/// Reads args.nodePools. `read_entry` reads the thresholds of an entry.
std::vector<NodePool> read_node_pools(api::StrictObject& args,
                                      const std::function<Thresholds(api::StrictObject& entry)>& read_entry);

/// Reports pools whose resources differ from PoolThresholds::resources().
void check_pool_resources(api::StrictObject& args, const PoolThresholds& thresholds);

/// Reads evictionLimits.node.
std::optional<std::uint32_t> read_evictions_per_node(api::StrictObject& args);

}  // namespace strategies
