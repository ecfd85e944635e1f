#include "planner/strategies/load/node_pools.hpp"

#include <algorithm>

namespace strategies {

std::vector<PoolNodes> divide_into_pools(const scheduling::ClusterSnapshot& cluster, std::span<const NodeIndex> nodes,
                                         const std::vector<NodePool>& pools, const Thresholds& own) {
  std::vector<PoolNodes> divided;
  for (const NodePool& pool : pools) divided.push_back({pool.name, &pool.thresholds, {}});
  divided.push_back({"", &own, {}});
  for (const NodeIndex node : nodes) {
    const auto selects = [&](const NodePool& pool) {
      return !pool.nodes || pool.nodes->matches(cluster.node(node).meta.labels);
    };
    const auto at = std::ranges::find_if(pools, selects) - pools.begin();
    divided[static_cast<std::size_t>(at)].nodes.push_back(node);
  }
  if (own.high.empty()) divided.pop_back();
  return divided;
}

std::vector<NodeIndex> nodes_in(const std::vector<PoolNodes>& pools) {
  std::vector<NodeIndex> all;
  for (const PoolNodes& pool : pools) all.insert(all.end(), pool.nodes.begin(), pool.nodes.end());
  return all;
}

}  // namespace strategies
