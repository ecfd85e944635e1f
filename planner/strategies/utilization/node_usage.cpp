#include "planner/strategies/utilization/node_usage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"

namespace strategies {

std::vector<std::string> tracked_resources(const Percentages& thresholds) {
  std::vector<std::string> resources = names_in(thresholds);
  for (const std::string_view basic : {api::well_known::kCpu, api::well_known::kMemory, api::well_known::kPods}) {
    if (std::ranges::find(resources, basic) == resources.end()) resources.emplace_back(basic);
  }
  return resources;
}

std::int64_t comparable_amount(std::string_view resource, std::int64_t milli) {
  return resource == api::well_known::kCpu ? milli : api::Quantity::from_milli(milli).units();
}

std::optional<double> NodeUsage::percent(std::size_t resource, std::string_view name) const {
  if (!capacity[resource]) return std::nullopt;
  const std::int64_t whole = comparable_amount(name, *capacity[resource]);
  if (whole == 0) return 0.0;
  // Division first: the order of the operations decides ties at a threshold.
  return static_cast<double>(comparable_amount(name, used[resource])) / static_cast<double>(whole) * 100;
}

double NodeUsage::raw_sum(const std::vector<std::string>& resources) const {
  double sum = 0;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    sum += static_cast<double>(comparable_amount(resources[r], used[r]));
  }
  return sum;
}

base::Result<std::vector<NodeUsage>> measure(const WhatIf& cluster, std::span<const NodeIndex> nodes,
                                             const UsageView& usage, const std::vector<std::string>& resources) {
  std::vector<NodeUsage> all;
  all.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    NodeUsage& entry = all.emplace_back();
    entry.node = node;
    for (const std::string& resource : resources) {
      const auto used = usage.of_node(node, resource);
      if (!used)
        return base::unavailable(
            fmt::format("the usage of {} is unknown for node {}", resource, cluster.base().node(node).meta.name));
      entry.used.push_back(*used);
      entry.capacity.push_back(capacity_in(cluster.base(), usage, node, resource));
    }
  }
  return all;
}

std::int64_t share_of(std::int64_t capacity_milli, double percent, std::string_view resource) {
  const auto whole = static_cast<double>(comparable_amount(resource, capacity_milli));
  const auto share = static_cast<std::int64_t>(percent * 0.01 * whole);  // percent is at most 100: no overflow
  return resource == api::well_known::kCpu ? share : api::Quantity::from_units(share).milli();
}

DestinationTaints::DestinationTaints(const ClusterSnapshot& cluster, std::span<const NodeIndex> destinations) {
  for (const NodeIndex node : destinations) {
    const std::vector<api::Taint>& taints = cluster.node(node).taints;
    if (taints.empty()) some_untainted_ = true;
    const auto is_same = [&](const std::vector<api::Taint>* known) { return *known == taints; };
    if (std::ranges::none_of(taints_, is_same)) taints_.push_back(&taints);
  }
}

bool DestinationTaints::accept(const api::Pod& pod) const {
  if (some_untainted_) return true;
  return std::ranges::any_of(taints_, [&](const std::vector<api::Taint>* taints) {
    if (pod.tolerations.size() < taints->size()) return false;
    using enum api::TaintEffect;
    return scheduling::first_untolerated(pod.tolerations, *taints,
                                         {kNoSchedule, kPreferNoSchedule, kNoExecute, kOther}) == nullptr;
  });
}

double mean_fullness(const NodeUsage& node, const std::vector<std::string>& resources) {
  double sum = 0;
  std::size_t published = 0;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    if (!node.publishes(r)) continue;
    sum += node.percent(r, resources[r]).value_or(0);
    ++published;
  }
  return published == 0 ? 0 : sum / static_cast<double>(published);
}

}  // namespace strategies
