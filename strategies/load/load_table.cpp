#include "strategies/load/load_table.hpp"

#include <algorithm>

namespace strategies {

LoadTable::LoadTable(const scheduling::ClusterSnapshot& cluster, const UsageView& usage,
                     std::vector<std::string> resources, std::span<const NodeIndex> nodes)
    : cluster_(cluster), usage_(usage), resources_(std::move(resources)), row_of_(cluster.node_count(), kNoRow) {
  for (const std::string& resource : resources_) numbers_.push_back(usage.number_of(resource));
  percents_.reserve(nodes.size() * resources_.size());
  capacities_.reserve(nodes.size() * resources_.size());
  for (const NodeIndex node : nodes) (take(node) ? known_ : unknown_).push_back(node);
}

bool LoadTable::take(NodeIndex node) {
  const std::size_t begin = percents_.size();
  for (const std::string& resource : resources_) {
    const auto used = usage_.of_node(node, resource);
    const auto capacity = capacity_in(cluster_, usage_, node, resource);
    if (!used || !capacity || *capacity <= 0) {
      percents_.resize(begin);
      capacities_.resize(begin);
      return false;
    }
    const auto whole = static_cast<double>(*capacity);
    percents_.push_back(static_cast<double>(*used) / whole * 100);
    capacities_.push_back(whole);
  }
  row_of_[node] = known_.size();
  return true;
}

std::optional<std::int64_t> LoadTable::amount(PodIndex pod, std::size_t resource) const {
  const auto used = usage_.of_pod_by(numbers_[resource], pod);
  return used && *used >= 0 ? used : std::nullopt;
}

std::optional<double> LoadTable::share(PodIndex pod, NodeIndex node, std::size_t resource) const {
  const auto used = amount(pod, resource);
  return used ? std::optional(percent_of(node, resource, *used)) : std::nullopt;
}

void LoadTable::add(NodeIndex node, std::size_t resource, double percent) {
  double& there = percents_[place(node, resource)];
  there = std::max(there + percent, 0.0);
}

void LoadTable::move(PodIndex pod, NodeIndex from, NodeIndex to) {
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    const auto used = amount(pod, r);
    if (!used) continue;
    if (knows(from)) add(from, r, -percent_of(from, r, *used));
    if (knows(to)) add(to, r, percent_of(to, r, *used));
  }
}

double LoadTable::mean(std::span<const NodeIndex> nodes, std::size_t resource) const {
  double sum = 0;
  for (const NodeIndex node : nodes) sum += percent(node, resource);
  return nodes.empty() ? 0 : sum / static_cast<double>(nodes.size());
}

}  // namespace strategies
