#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Lower bound of the nodes that any placement of the pods needs.
struct LowerBound {
  std::size_t busy = 0;    ///< nodes with pods that do not go with their node
  std::size_t needed = 0;  ///< nodes that every plan leaves in use
  std::string reason;  ///< what needs the nodes: "requests of cpu", "12 pods of anti-affinity like default/quorum-1", …

  std::size_t max_freed() const { return busy - needed; }
};

/// Returns the maximum of several bounds: nodes that cannot be emptied; the minimum number of nodes that can hold all
/// requests, per resource and also by where each pod may run (node_pools.hpp); pods that repel each other on a node or
/// request the same port. When `should_stop` returns true, further resources are skipped and the result is still a
/// lower bound.
LowerBound lower_bound_of(const DefragmentationProblem& problem, const std::function<bool()>& should_stop);

/// Returns a lower bound of moves, indexed by the number of freed nodes. All pods of a freed node move. Pods kept apart
/// by node (apart.hpp) each take a node without such a pod, and enough pods must leave that node to make capacity. When
/// `should_stop` returns true, further sets are skipped and the result is still a lower bound.
std::vector<std::size_t> fewest_moves(const DefragmentationProblem& problem, const std::function<bool()>& should_stop);

/// Explains what holds the nodes that stay after the plan, for the first `most` nodes by name. `cluster` is the cluster
/// after the plan; `avoided` contains sorted nodes that take no pods.
std::vector<EmptyingReport::Held> held_nodes(const DefragmentationProblem& problem, const WhatIf& cluster,
                                             const std::vector<NodeIndex>& avoided, std::size_t most);

}  // namespace strategies
