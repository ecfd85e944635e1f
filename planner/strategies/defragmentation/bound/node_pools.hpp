#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "planner/strategies/defragmentation/bound/apart.hpp"
#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Returns the minimum number of nodes by where each pod may run: node selector, required node affinity, taints, and
/// whether the node can hold the pod alone. A set of nodes that some pods may not leave needs enough nodes to hold
/// these pods; a set around others needs enough for its own pods in addition to the inner sets. Evenly spread pods are
/// assigned by domain, and pods kept apart need one node each. Returns 0 if all pods may run on all nodes.
///
/// Overlapping sets that are not nested, sets beyond a few dozen, and resources after `should_stop` returns true are
/// skipped; the result is still a lower bound.
std::size_t nodes_needed_by_pools(const DefragmentationProblem& problem, const std::vector<EvenPods>& even,
                                  const std::vector<PodsApart>& apart, const std::function<bool()>& should_stop);

}  // namespace strategies
