#include <algorithm>
#include <limits>
#include <map>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/spread/component.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxSizes = 4;  ///< maximum number of request sets for which capacity is computed
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int32_t>::max();

std::vector<PodIndex> one_of_each_size(const ClusterSnapshot& cluster, const std::vector<PodIndex>& pods) {
  std::map<std::uint32_t, PodIndex> by_size;
  for (const PodIndex pod : pods) {
    if (by_size.size() < kMaxSizes) by_size.emplace(cluster.request_set_of(pod), pod);
  }
  std::vector<PodIndex> samples;
  for (const auto& [size, pod] : by_size) samples.push_back(pod);
  return samples;
}

/// Number of further pods with these requests that fit the node.
std::int64_t block_size_for(const WhatIf& cluster, const RequestSet& requests, NodeIndex node) {
  std::int64_t room = cluster.free(node, kPodsIndex) / 1000;
  for (const auto& [resource, milli] : requests) {
    if (milli > 0) room = std::min(room, cluster.free(node, resource) / milli);
  }
  return std::max<std::int64_t>(room, 0);
}

void add_room(const WhatIf& cluster, PodIndex sample, std::vector<NodePods>& nodes) {
  const auto query = cluster.fit_query(sample, FitLevel::kScheduler);
  const RequestSet& requests = cluster.base().requests(sample);
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (query->fits_ignoring_capacity_and_spread(node))
      nodes[node].room = std::max(nodes[node].room, block_size_for(cluster, requests, node));
  }
}

bool leaves_out(const SpreadState& state, NodeIndex node) {
  return state.is_hard() && state.domain_of(node) == Topology::kNone;
}

}  // namespace

std::vector<NodePods> pods_and_capacity(const StrategyContext& context, const SpreadMembers& members, bool node_fit) {
  const WhatIf& cluster = context.cluster;
  std::vector<NodePods> nodes(cluster.base().node_count());
  for (const PodIndex pod : members.pods) ++nodes[cluster.node_of(pod)].pods;
  if (node_fit) {
    for (const PodIndex sample : one_of_each_size(cluster.base(), members.pods)) add_room(cluster, sample, nodes);
  } else {
    for (NodePods& node : nodes) node.room = kUnlimited;
  }
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    const auto is_out = [node](const SpreadState* state) { return leaves_out(*state, node); };
    if (std::ranges::any_of(members.states, is_out)) nodes[node].room = 0;
  }
  return nodes;
}

}  // namespace strategies
