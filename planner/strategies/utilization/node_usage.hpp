#pragma once

/// Utilization of nodes, shared by the utilization strategies (upstream-semantics.md#utilization).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/utilization/usage_view.hpp"

namespace strategies {

/// Returns the tracked resources: those with thresholds first, then cpu, memory and pods if missing.
std::vector<std::string> tracked_resources(const Percentages& thresholds);

/// Converts an amount to the unit of percentages and sums: cpu in thousandths, others in whole units, rounded up.
std::int64_t comparable_amount(std::string_view resource, std::int64_t milli);

/// Utilization of one node. Vectors are parallel to the tracked resources; amounts are in thousandths.
struct NodeUsage {
  NodeIndex node;
  std::vector<std::int64_t> used;
  std::vector<std::optional<std::int64_t>> capacity;  ///< nullopt if the node does not publish it

  /// Returns whether the node has some of the resource. If not, it is out of scope for it.
  bool publishes(std::size_t resource) const { return capacity[resource].value_or(0) > 0; }
  /// Returns used / capacity * 100, 0 for a capacity of 0, and nullopt if not published.
  std::optional<double> percent(std::size_t resource, std::string_view name) const;
  /// Sum over the resources in comparable_amount() units; used for sorting nodes.
  double raw_sum(const std::vector<std::string>& resources) const;
};

/// Returns the usage of `nodes`, in their order. Capacity is allocatable, or capacity if no allocatable is published.
/// The error names the node whose usage is unknown.
base::Result<std::vector<NodeUsage>> measure(const WhatIf& cluster, std::span<const NodeIndex> nodes,
                                             const UsageView& usage, const std::vector<std::string>& resources);

/// Mean percentage over the published resources, which compares nodes independently of units.
double mean_fullness(const NodeUsage& node, const std::vector<std::string>& resources);

/// Returns trunc(percent/100 * capacity), computed in comparable_amount() units, in thousandths.
std::int64_t share_of(std::int64_t capacity_milli, double percent, std::string_view resource);

/// Checks whether at least one destination's taints allow the pod. Upstream's rough test (A.3.3): at least as many
/// tolerations as taints, and every taint tolerated.
class DestinationTaints {
 public:
  DestinationTaints(const ClusterSnapshot& cluster, std::span<const NodeIndex> destinations);
  bool accept(const api::Pod& pod) const;

 private:
  bool some_untainted_ = false;
  std::vector<const std::vector<api::Taint>*> taints_;  ///< Distinct taints of tainted destinations
};

}  // namespace strategies
