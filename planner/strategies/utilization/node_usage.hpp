#pragma once

/// How full nodes are: what the utilization strategies share (upstream-semantics.md#utilization).

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

/// The resources that are followed: those with thresholds first, then cpu, memory and pods where they are missing.
std::vector<std::string> tracked_resources(const Percentages& thresholds);

/// The number in which percentages and sums are computed: cpu in thousandths, the rest in whole units, rounded up.
std::int64_t comparable_amount(std::string_view resource, std::int64_t milli);

/// One node as a utilization strategy sees it. Vectors run parallel to the tracked resources; amounts in thousandths.
struct NodeUsage {
  scheduling::NodeIndex node;
  std::vector<std::int64_t> used;
  std::vector<std::optional<std::int64_t>> capacity;  ///< nullopt: the node does not publish it

  /// False: it publishes none of the resource, and is out of scope for it.
  bool publishes(std::size_t resource) const { return capacity[resource].value_or(0) > 0; }
  /// used / capacity * 100. 0 of a capacity of 0; nullopt when not published.
  std::optional<double> percent(std::size_t resource, std::string_view name) const;
  /// Sum over the resources in comparable numbers: how nodes are put in order.
  double raw_sum(const std::vector<std::string>& resources) const;
};

/// Usage of `nodes`, in their order. Capacity is allocatable, or capacity where no allocatable is published. An error
/// names the node whose usage is not known.
base::Result<std::vector<NodeUsage>> measure(const scheduling::WhatIf& cluster,
                                             std::span<const scheduling::NodeIndex> nodes, const UsageView& usage,
                                             const std::vector<std::string>& resources);

/// Mean of the percentages of what it publishes: how full a node is, whatever the units.
double mean_fullness(const NodeUsage& node, const std::vector<std::string>& resources);

/// trunc(percent/100 * capacity), in comparable numbers, as thousandths.
std::int64_t share_of(std::int64_t capacity_milli, double percent, std::string_view resource);

/// Could the pod be tolerated by one of the destinations? Upstream's rough test (A.3.3): as many tolerations as taints,
/// and every taint tolerated.
class DestinationTaints {
 public:
  DestinationTaints(const scheduling::ClusterSnapshot& cluster, std::span<const scheduling::NodeIndex> destinations);
  bool accept(const api::Pod& pod) const;

 private:
  bool some_untainted_ = false;
  std::vector<const std::vector<api::Taint>*> taints_;  ///< of tainted destinations, without repeats
};

}  // namespace strategies
