#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "planner/strategies/defragmentation/bound/apart.hpp"
#include "planner/strategies/defragmentation/bound/spread.hpp"
#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Nodes without which the pods cannot run, by where each of them may run at all: its selector, its required node
/// affinity, the taints, and nodes that could hold it alone. Of each set of nodes that some pods may not leave, as many
/// as hold these; of a set around others, as many as hold its own pods beside those that the inner ones need. 0: all
/// pods may run on all nodes. Sets that overlap without one being in the other, and more than a few dozen, are left
/// out, and once it should stop, further resources: each leaves a lower bound. Of pods that are spread evenly, each
/// domain holds its part; of those that are apart, each node one.
std::size_t nodes_needed_by_pools(const DefragmentationProblem& problem, const std::vector<EvenPods>& even,
                                  const std::vector<PodsApart>& apart, const std::function<bool()>& should_stop);

}  // namespace strategies
