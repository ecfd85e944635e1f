#include "strategies/load/load_table.hpp"

#include <algorithm>

namespace strategies {

LoadTable::LoadTable(const scheduling::ClusterSnapshot& cluster, const UsageView& usage,
                     std::vector<std::string> resources, std::span<const NodeIndex> nodes)
    : cluster_(cluster), usage_(usage), resources_(std::move(resources)), row_of_(cluster.node_count(), kNoRow) {
  rows_.reserve(nodes.size() * resources_.size());
  for (const NodeIndex node : nodes) (take(node) ? known_ : unknown_).push_back(node);
}

bool LoadTable::take(NodeIndex node) {
  std::vector<Cell> row;
  for (const std::string& resource : resources_) {
    const auto used = usage_.of_node(node, resource);
    const auto capacity = capacity_in(cluster_, usage_, node, resource);
    if (!used || !capacity || *capacity <= 0) return false;
    const auto whole = static_cast<double>(*capacity);
    row.push_back({static_cast<double>(*used) / whole * 100, whole});
  }
  row_of_[node] = known_.size();
  rows_.insert(rows_.end(), row.begin(), row.end());
  return true;
}

std::optional<double> LoadTable::share(PodIndex pod, NodeIndex node, std::size_t resource) const {
  const auto used = usage_.of_pod(pod, resources_[resource]);
  if (!used || *used < 0) return std::nullopt;
  return static_cast<double>(*used) / rows_[place(node, resource)].capacity * 100;
}

void LoadTable::add(NodeIndex node, std::size_t resource, double percent) {
  double& there = rows_[place(node, resource)].percent;
  there = std::max(there + percent, 0.0);
}

void LoadTable::move(PodIndex pod, NodeIndex from, NodeIndex to) {
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    if (knows(from)) add(from, r, -share(pod, from, r).value_or(0));
    if (knows(to)) add(to, r, share(pod, to, r).value_or(0));
  }
}

double LoadTable::mean(std::span<const NodeIndex> nodes, std::size_t resource) const {
  double sum = 0;
  for (const NodeIndex node : nodes) sum += percent(node, resource);
  return nodes.empty() ? 0 : sum / static_cast<double>(nodes.size());
}

}  // namespace strategies
