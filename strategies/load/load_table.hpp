#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduling/snapshot/cluster_snapshot.hpp"
#include "strategies/utilization/usage_view.hpp"

namespace strategies {

using scheduling::NodeIndex;
using scheduling::PodIndex;

/// How full nodes are in some resources, in percent of what they have, while pods are moved about. A node is known when
/// the usage of each resource is, and the node has some of it. Keeps references to what it is made of.
class LoadTable {
 public:
  LoadTable(const scheduling::ClusterSnapshot& cluster, const UsageView& usage, std::vector<std::string> resources,
            std::span<const NodeIndex> nodes);

  const std::vector<std::string>& resources() const { return resources_; }
  const std::vector<NodeIndex>& known() const { return known_; }      ///< in the order given
  const std::vector<NodeIndex>& unknown() const { return unknown_; }  ///< in the order given
  bool knows(NodeIndex node) const { return node < row_of_.size() && row_of_[node] != kNoRow; }

  /// REQUIRES: the node is known, as below.
  double percent(NodeIndex node, std::size_t resource) const { return rows_[place(node, resource)].percent; }
  /// In thousandths of the resource's unit.
  double capacity(NodeIndex node, std::size_t resource) const { return rows_[place(node, resource)].capacity; }
  /// Percent of `node` that the pod uses, or would use there; nullopt: not known, or less than nothing.
  std::optional<double> share(PodIndex pod, NodeIndex node, std::size_t resource) const;
  void add(NodeIndex node, std::size_t resource, double percent);
  /// Takes the pod's shares off `from` and puts them on `to`, as far as these are known. Unknown shares count as 0.
  void move(PodIndex pod, NodeIndex from, NodeIndex to);

  double mean(std::span<const NodeIndex> nodes, std::size_t resource) const;

 private:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
  struct Cell {
    double percent = 0;
    double capacity = 0;
  };

  std::size_t place(NodeIndex node, std::size_t resource) const { return row_of_[node] * resources_.size() + resource; }
  bool take(NodeIndex node);

  const scheduling::ClusterSnapshot& cluster_;
  const UsageView& usage_;
  std::vector<std::string> resources_;
  std::vector<std::size_t> row_of_;  ///< by node
  std::vector<Cell> rows_;
  std::vector<NodeIndex> known_;
  std::vector<NodeIndex> unknown_;
};

}  // namespace strategies
