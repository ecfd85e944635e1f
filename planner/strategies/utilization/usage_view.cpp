#include "planner/strategies/utilization/usage_view.hpp"

#include <algorithm>

namespace strategies {
namespace {

constexpr std::size_t kUnknownResource = static_cast<std::size_t>(-1);

std::optional<std::int64_t> published(const api::ResourceList& list, std::string_view resource) {
  const auto at =
      std::ranges::lower_bound(list, resource, {}, [](const auto& entry) { return std::string_view(entry.first); });
  if (at == list.end() || at->first != resource) return std::nullopt;
  return at->second.milli();
}

}  // namespace

std::optional<std::int64_t> capacity_in(const ClusterSnapshot& cluster, const UsageView& usage, NodeIndex node,
                                        std::string_view resource) {
  if (usage.is_percent(resource)) return kWholeNode;
  const api::Node& object = cluster.node(node);
  return published(object.allocatable.empty() ? object.capacity : object.allocatable, resource);
}

std::optional<std::int64_t> RequestedUsage::of_node(NodeIndex node, std::string_view resource) const {
  const auto index = cluster_->base().resources().find(resource);
  return index ? cluster_->used().get(node, *index) : 0;
}

std::size_t RequestedUsage::number_of(std::string_view resource) const {
  const auto index = cluster_->base().resources().find(resource);
  return index ? *index : kUnknownResource;
}

std::optional<std::int64_t> RequestedUsage::of_pod_by(std::size_t number, PodIndex pod) const {
  if (number == kUnknownResource) return 0;
  if (number == kPodsIndex) return 1000;
  return amount_of(cluster_->base().requests(pod), static_cast<ResourceIndex>(number));
}

UsageWithoutPods::UsageWithoutPods(const UsageView& all, const WhatIf& cluster, IsLeftOut is_left_out) : all_(all) {
  if (!all.has_pod_usage()) return;
  for (const PodIndex pod : cluster.base().pods()) {
    const NodeIndex node = cluster.base().node_of(pod);
    if (node == kNoNode || cluster.is_moved(pod) || !cluster.base().is_active(pod)) continue;
    if (is_left_out(cluster.base(), pod) && all.has_in_node(pod)) left_out_[node].push_back(pod);
  }
}

std::optional<std::int64_t> UsageWithoutPods::of_node(NodeIndex node, std::string_view resource) const {
  auto used = all_.of_node(node, resource);
  const auto at = left_out_.find(node);
  if (!used || at == left_out_.end()) return used;
  const std::size_t number = all_.number_of(resource);
  for (const PodIndex pod : at->second) used = saturating_subtract(*used, all_.of_pod_by(number, pod).value_or(0));
  return std::max<std::int64_t>(*used, 0);
}

bool is_leaving(const ClusterSnapshot& cluster, PodIndex pod) { return !cluster.is_staying(pod); }

}  // namespace strategies
