#include "planner/strategies/load/load_table.hpp"

#include <algorithm>
#include <functional>

namespace strategies {

LoadTable::LoadTable(const ClusterSnapshot& cluster, const UsageView& usage, std::vector<std::string> resources,
                     std::span<const NodeIndex> nodes)
    : cluster_(cluster), usage_(usage), resources_(std::move(resources)), row_of_(cluster.node_count(), kNoRow) {
  for (const std::string& resource : resources_) numbers_.push_back(usage.number_of(resource));
  percents_.reserve(nodes.size() * resources_.size());
  capacities_.reserve(nodes.size() * resources_.size());
  for (const NodeIndex node : nodes) {
    switch (take(node)) {
      case Taken::kKnown: known_.push_back(node); break;
      case Taken::kUnknown: unknown_.push_back(node); break;
      case Taken::kOutOfScope: out_of_scope_.push_back(node); break;
    }
  }
}

LoadTable::Taken LoadTable::take(NodeIndex node) {
  const std::size_t begin = percents_.size();
  bool has_some = false;
  bool is_unknown = false;
  for (const std::string& resource : resources_) {
    const std::int64_t capacity = capacity_in(cluster_, usage_, node, resource).value_or(0);
    const auto used = capacity > 0 ? usage_.of_node(node, resource) : std::nullopt;
    has_some = has_some || capacity > 0;
    is_unknown = is_unknown || (capacity > 0 && !used);
    const auto whole = static_cast<double>(capacity);
    percents_.push_back(used ? static_cast<double>(*used) / whole * 100 : kNone);
    capacities_.push_back(std::max(whole, 0.0));
  }
  if (has_some && !is_unknown) {
    row_of_[node] = known_.size();
    return Taken::kKnown;
  }
  percents_.resize(begin);
  capacities_.resize(begin);
  return is_unknown ? Taken::kUnknown : Taken::kOutOfScope;
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
    if (knows(from) && has(from, r)) add(from, r, -percent_of(from, r, *used));
    if (knows(to) && has(to, r)) add(to, r, percent_of(to, r, *used));
  }
}

double LoadTable::mean(std::span<const NodeIndex> nodes, std::size_t resource) const {
  double sum = 0;
  std::size_t having = 0;
  for (const NodeIndex node : nodes) {
    if (!has(node, resource)) continue;
    sum += percent(node, resource);
    ++having;
  }
  return having == 0 ? 0 : sum / static_cast<double>(having);
}

bool is_above(std::span<const double> percents, std::span<const double> limits) {
  return !std::ranges::equal(percents, limits, std::ranges::less_equal{});
}

bool has_any_above(const LoadTable& load, std::span<const double> limits) {
  return std::ranges::any_of(load.known(), [&](NodeIndex node) { return is_above(load.percents(node), limits); });
}

double worst_excess(std::span<const double> percents, std::span<const double> limits) {
  double worst = percents[0] - limits[0];
  for (std::size_t r = 1; r < percents.size(); ++r) worst = std::max(worst, percents[r] - limits[r]);
  return worst;
}

}  // namespace strategies
