#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Nodes without which the pods cannot run, whatever moves where.
struct LowerBound {
  std::size_t busy = 0;    ///< nodes with pods that do not go with their node
  std::size_t needed = 0;  ///< of any plan
  std::string reason;  ///< what needs them: "requests of cpu", "12 pods of anti-affinity like default/quorum-1", …

  std::size_t most_freed() const { return busy - needed; }
};

/// The largest of: nodes that cannot be emptied; the fewest nodes that could hold what is requested of each resource,
/// also by where each pod may run at all (node_pools.hpp); pods that repel one another on a node or ask for the same
/// port. Once it should stop, no further resource is looked at, which leaves a lower bound.
LowerBound lower_bound_of(const DefragmentationProblem& problem, const std::function<bool()>& should_stop);

/// What keeps the nodes that stay, once the plan is carried out: the first `most` of them by name. `cluster`: as it is
/// then; `avoided`: sorted, nodes that take no pods.
std::vector<EmptyingReport::Held> held_nodes(const DefragmentationProblem& problem, const scheduling::WhatIf& cluster,
                                             const std::vector<NodeIndex>& avoided, std::size_t most);

}  // namespace strategies
