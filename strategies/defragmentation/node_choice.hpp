#pragma once

#include <deque>
#include <vector>

#include "strategies/defragmentation/packing.hpp"

namespace strategies {

/// With at most so many moves, as far as can be told: the greedy choice of the nodes to empty: by what is requested as
/// many as the others could hold, those with the least to move; then each in turn, and where a pod finds no place one
/// of the rest is kept open for it. By node, those included that are empty already.
std::vector<bool> choose_nodes(const DefragmentationProblem& problem, std::size_t most_moves, SearchBudget& budget,
                               Chance& chance);

}  // namespace strategies
