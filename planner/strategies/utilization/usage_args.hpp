#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/strict_object.hpp"
#include "planner/snapshot/measured_usage.hpp"
#include "planner/strategies/common_args.hpp"

namespace strategies {

/// Samples of a node that hysteresis can look at: so many are kept.
inline constexpr std::int32_t kMaxHysteresisSamples = 20;

/// args.usage: whose figures a strategy goes by.
struct UsageArgs {
  scheduling::UsageNeed need;
  bool forecast = true;  ///< the higher of what is and what is foreseen, where a trusted forecast is
  /// A node becomes a source only when so many of its last `of` samples say so, beside its smoothed figure.
  std::int32_t samples = 3;
  std::int32_t of = 5;
  /// Ask the scheduler by soft taints to place pods on nodes that are not loaded.
  bool soft_taint = false;
  friend bool operator==(const UsageArgs&, const UsageArgs&) = default;
};

/// `usage`: {source, forecast, hysteresis: {samples, of}, softTaint}; nullopt: by requests.
std::optional<UsageArgs> read_usage(api::StrictObject& args);

/// `metricsUtilization` as upstream has it (upstream-semantics.md#measured-usage); nullopt: it is not set.
std::optional<scheduling::UsageNeed> read_metrics_utilization(api::StrictObject& args);

/// Which names thresholds may have.
ResourceRule resource_rule_of(const std::optional<scheduling::UsageNeed>& need);

/// Upstream's 0 % to 100 % band, or one as distances from the mean.
struct Thresholds {
  Percentages low;   ///< at or below all of them: underutilized
  Percentages high;  ///< above any of them: overutilized; the same resources
  bool use_deviation = false;
  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};
/// thresholds, targetThresholds and useDeviationThresholds of the object.
Thresholds read_thresholds(api::StrictObject& args, ResourceRule rule);

/// One of args.nodePools: nodes that are balanced among themselves.
struct NodePool {
  std::string name;
  std::optional<api::LabelSelector> nodes;  ///< absent: all
  Thresholds thresholds;
  friend bool operator==(const NodePool&, const NodePool&) = default;
};
/// `read_rest` reads what else an entry has.
std::vector<NodePool> read_node_pools(api::StrictObject& args,
                                      const std::function<void(api::StrictObject& entry, NodePool& pool)>& read_rest);

/// Complains about pools that do not name the resources of the strategy's own thresholds, or of the first pool.
void check_pool_resources(api::StrictObject& args, const std::vector<NodePool>& pools, const Thresholds& own);

/// The resources of the strategy's own thresholds, or of the first pool.
std::vector<std::string> resources_of(const std::vector<NodePool>& pools, const Thresholds& own);

}  // namespace strategies
