#pragma once

#include <vector>

#include "strategies/defragmentation/problem.hpp"

namespace strategies {

/// What keeps the nodes that stay, once the plan is carried out: the first `most` of them by name. `cluster`: as it is
/// then; `avoided`: sorted, nodes that take no pods.
std::vector<EmptyingReport::Held> held_nodes(const DefragmentationProblem& problem, const scheduling::Overlay& cluster,
                                             const std::vector<NodeIndex>& avoided, std::size_t most);

}  // namespace strategies
