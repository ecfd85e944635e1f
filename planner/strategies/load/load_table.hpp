#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/strategies/utilization/usage_view.hpp"

namespace strategies {

using scheduling::NodeIndex;
using scheduling::PodIndex;

/// How full nodes are in some resources, in percent of what they have, while pods are moved about. A node is known when
/// the usage of each resource that it has some of is. It is out of scope for the others, and as a whole if it has none
/// of any. Keeps references to what it is made of.
class LoadTable {
 public:
  LoadTable(const scheduling::ClusterSnapshot& cluster, const UsageView& usage, std::vector<std::string> resources,
            std::span<const NodeIndex> nodes);

  const std::vector<std::string>& resources() const { return resources_; }
  const std::vector<NodeIndex>& known() const { return known_; }      ///< in the order given
  const std::vector<NodeIndex>& unknown() const { return unknown_; }  ///< in the order given
  /// In the order given; neither known nor unknown.
  const std::vector<NodeIndex>& out_of_scope() const { return out_of_scope_; }
  /// Percent of a resource that the node has none of: below every limit.
  static constexpr double kNone = -1;
  bool knows(NodeIndex node) const { return node < row_of_.size() && row_of_[node] != kNoRow; }

  /// REQUIRES: the node is known, as below.
  double percent(NodeIndex node, std::size_t resource) const { return percents_[place(node, resource)]; }
  /// The same of all resources: a view, which add() and move() change.
  std::span<const double> percents(NodeIndex node) const {
    return std::span(percents_).subspan(place(node, 0), resources_.size());
  }
  /// In thousandths of the resource's unit; 0: none.
  double capacity(NodeIndex node, std::size_t resource) const { return capacities_[place(node, resource)]; }
  bool has(NodeIndex node, std::size_t resource) const { return capacity(node, resource) > 0; }
  /// Thousandths of the resource's unit in percent of `node`; of a resource that it has none of: infinite, or 0 of 0.
  double percent_of(NodeIndex node, std::size_t resource, std::int64_t amount) const {
    if (!has(node, resource)) return amount > 0 ? std::numeric_limits<double>::infinity() : 0;
    return static_cast<double>(amount) / capacity(node, resource) * 100;
  }
  /// What the pod uses, in thousandths of the resource's unit; nullopt: not known, or less than nothing.
  std::optional<std::int64_t> amount(PodIndex pod, std::size_t resource) const;
  /// The same in percent of `node`, where it is or would be.
  std::optional<double> share(PodIndex pod, NodeIndex node, std::size_t resource) const;
  void add(NodeIndex node, std::size_t resource, double percent);
  /// Takes the pod's shares off `from` and puts them on `to`, as far as these are known. Unknown shares count as 0.
  void move(PodIndex pod, NodeIndex from, NodeIndex to);

  /// Mean percentage of the nodes that have some of the resource.
  double mean(std::span<const NodeIndex> nodes, std::size_t resource) const;

 private:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  std::size_t place(NodeIndex node, std::size_t resource) const { return row_of_[node] * resources_.size() + resource; }
  enum class Taken { kKnown, kUnknown, kOutOfScope };
  Taken take(NodeIndex node);

  const scheduling::ClusterSnapshot& cluster_;
  const UsageView& usage_;
  std::vector<std::string> resources_;
  std::vector<std::size_t> numbers_;  ///< UsageView's, of resources_
  std::vector<std::size_t> row_of_;   ///< by node
  std::vector<double> percents_;      ///< by known node and resource
  std::vector<double> capacities_;    ///< the same
  std::vector<NodeIndex> known_;
  std::vector<NodeIndex> unknown_;
  std::vector<NodeIndex> out_of_scope_;
};

/// Of what a move is good for: while the load is as it is now. The rest is by what is usual, and lasts.
inline constexpr double kPartOfNow = 0.25;

/// What nodes and pods use usually.
struct UsualLoad {
  LoadTable load;
  std::vector<double> level;  ///< down to which nodes are relieved, in percent by LoadTable::resources()
};

}  // namespace strategies
