#include "strategies/utilization/usage_view.hpp"

namespace strategies {

std::optional<std::int64_t> RequestedUsage::of_node(scheduling::NodeIndex node, std::string_view resource) const {
  const auto index = cluster_->base().resources().find(resource);
  return index ? cluster_->used().get(node, *index) : 0;
}

std::optional<std::int64_t> RequestedUsage::of_pod(scheduling::PodIndex pod, std::string_view resource) const {
  const auto index = cluster_->base().resources().find(resource);
  if (!index) return 0;
  if (*index == scheduling::kPodsIndex) return 1000;
  return scheduling::amount_of(cluster_->base().requests(pod), *index);
}

}  // namespace strategies
