#include "strategies/utilization/usage_view.hpp"

#include <algorithm>

namespace strategies {
namespace {

constexpr std::size_t kNobodyHas = static_cast<std::size_t>(-1);

std::optional<std::int64_t> published(const api::ResourceList& list, std::string_view resource) {
  const auto at =
      std::ranges::lower_bound(list, resource, {}, [](const auto& entry) { return std::string_view(entry.first); });
  if (at == list.end() || at->first != resource) return std::nullopt;
  return at->second.milli();
}

}  // namespace

std::optional<std::int64_t> capacity_in(const scheduling::ClusterSnapshot& cluster, const UsageView& usage,
                                        scheduling::NodeIndex node, std::string_view resource) {
  if (usage.is_percent(resource)) return kWholeNode;
  const api::Node& object = cluster.node(node);
  return published(object.allocatable.empty() ? object.capacity : object.allocatable, resource);
}

std::optional<std::int64_t> RequestedUsage::of_node(scheduling::NodeIndex node, std::string_view resource) const {
  const auto index = cluster_->base().resources().find(resource);
  return index ? cluster_->used().get(node, *index) : 0;
}

std::size_t RequestedUsage::number_of(std::string_view resource) const {
  const auto index = cluster_->base().resources().find(resource);
  return index ? *index : kNobodyHas;
}

std::optional<std::int64_t> RequestedUsage::of_pod_by(std::size_t number, scheduling::PodIndex pod) const {
  if (number == kNobodyHas) return 0;
  if (number == scheduling::kPodsIndex) return 1000;
  return scheduling::amount_of(cluster_->base().requests(pod), static_cast<scheduling::ResourceIndex>(number));
}

}  // namespace strategies
