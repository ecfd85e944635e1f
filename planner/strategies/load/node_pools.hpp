#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// The nodes of one pool.
struct PoolNodes {
  std::string_view name;         ///< Empty for nodes in no pool
  const Thresholds* thresholds;  ///< The pool's
  std::vector<NodeIndex> nodes;  ///< In the order given
};

/// Divides the nodes: each belongs to the first pool that selects it. Nodes in no pool come last, with the strategy's
/// own thresholds. They are omitted if the strategy has none.
std::vector<PoolNodes> divide_into_pools(const scheduling::ClusterSnapshot& cluster, std::span<const NodeIndex> nodes,
                                         const std::vector<NodePool>& pools, const Thresholds& own);

/// Returns the nodes of all pools.
std::vector<NodeIndex> nodes_in(const std::vector<PoolNodes>& pools);

}  // namespace strategies
