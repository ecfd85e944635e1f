#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/strategies/utilization/usage_view.hpp"

namespace strategies {

/// Load of nodes in some resources, in percent of their capacity, updated as pods move. A node is known if the usage
/// of each resource that it has is known. A resource without capacity is out of scope for its node, and a node without
/// any of the resources is out of scope. Keeps references to its arguments.
class LoadTable {
 public:
  LoadTable(const ClusterSnapshot& cluster, const UsageView& usage, std::vector<std::string> resources,
            std::span<const NodeIndex> nodes);

  const std::vector<std::string>& resources() const { return resources_; }
  const std::vector<NodeIndex>& known() const { return known_; }      ///< In the order given
  const std::vector<NodeIndex>& unknown() const { return unknown_; }  ///< In the order given
  /// Nodes that are neither known nor unknown, in the order given.
  const std::vector<NodeIndex>& out_of_scope() const { return out_of_scope_; }
  /// Percentage of a resource that the node does not have; below every limit.
  static constexpr double kNone = -1;
  bool knows(NodeIndex node) const { return node < row_of_.size() && row_of_[node] != kNoRow; }

  /// REQUIRES: the node is known. This applies to all functions below that take a node.
  double percent(NodeIndex node, std::size_t resource) const { return percents_[place(node, resource)]; }
  /// Returns the percentages of all resources, as a view that add() and move() change.
  std::span<const double> percents(NodeIndex node) const {
    return std::span(percents_).subspan(place(node, 0), resources_.size());
  }
  /// In thousandths of the resource's unit; 0 if the node has none.
  double capacity(NodeIndex node, std::size_t resource) const { return capacities_[place(node, resource)]; }
  bool has(NodeIndex node, std::size_t resource) const { return capacity(node, resource) > 0; }
  /// Converts thousandths of the resource's unit to percent of `node`. If the node has none of it, returns 0 for an
  /// amount of 0, else infinity.
  double percent_of(NodeIndex node, std::size_t resource, std::int64_t amount) const {
    if (!has(node, resource)) return amount > 0 ? std::numeric_limits<double>::infinity() : 0;
    return static_cast<double>(amount) / capacity(node, resource) * 100;
  }
  /// Returns the pod's usage in thousandths of the resource's unit, or nullopt if it is unknown or negative.
  std::optional<std::int64_t> amount(PodIndex pod, std::size_t resource) const;
  /// Returns the pod's usage in percent of `node`, its current or possible node.
  std::optional<double> share(PodIndex pod, NodeIndex node, std::size_t resource) const;
  void add(NodeIndex node, std::size_t resource, double percent);
  /// Moves the pod's shares from `from` to `to` if those nodes are known. Unknown shares count as 0.
  void move(PodIndex pod, NodeIndex from, NodeIndex to);

  /// Mean percentage of the nodes that have the resource.
  double mean(std::span<const NodeIndex> nodes, std::size_t resource) const;

 private:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  std::size_t place(NodeIndex node, std::size_t resource) const { return row_of_[node] * resources_.size() + resource; }
  enum class Taken { kKnown, kUnknown, kOutOfScope };
  Taken take(NodeIndex node);

  const ClusterSnapshot& cluster_;
  const UsageView& usage_;
  std::vector<std::string> resources_;
  std::vector<std::size_t> numbers_;  ///< UsageView's numbers of resources_
  std::vector<std::size_t> row_of_;   ///< By node
  std::vector<double> percents_;      ///< By known node and resource
  std::vector<double> capacities_;    ///< By known node and resource
  std::vector<NodeIndex> known_;
  std::vector<NodeIndex> unknown_;
  std::vector<NodeIndex> out_of_scope_;
};

/// Returns whether a percentage is above its limit. Both are by resource; this applies to the functions below, too.
bool is_above(std::span<const double> percents, std::span<const double> limits);
/// Returns whether a known node is above the limits.
bool has_any_above(const LoadTable& load, std::span<const double> limits);
/// Returns the excess over the limit in the worst resource, negative if it is below. REQUIRES: there is a resource.
double worst_excess(std::span<const double> percents, std::span<const double> limits);

/// Weight of the current load in the benefit of a move. The rest is the weight of the usual load, which lasts.
inline constexpr double kWeightOfCurrentLoad = 0.25;

/// Usual load of nodes and pods.
struct UsualLoad {
  LoadTable load;
  std::vector<double> level;  ///< Target level of sources, in percent, by LoadTable::resources()
};

}  // namespace strategies
