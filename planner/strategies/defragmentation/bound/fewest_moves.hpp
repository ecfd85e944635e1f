#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Returns a lower bound of moves, indexed by the number of freed nodes. All pods of a freed node move. Pods kept apart
/// by node (apart.hpp) each take a node without such a pod, and enough pods must leave that node to make capacity. When
/// `should_stop` returns true, further sets are skipped and the result is still a lower bound.
std::vector<std::size_t> fewest_moves(const DefragmentationProblem& problem, const std::function<bool()>& should_stop);

}  // namespace strategies
