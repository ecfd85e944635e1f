#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// By number of freed nodes, 0 first: no plan frees so many with fewer moves. All pods of a freed node move. Where some
/// of them keep one another apart by node (apart.hpp), each takes a node that had none of them, and as many pods leave
/// that one as have to make room. Once it should stop, no more of those are looked at, which leaves a lower bound.
std::vector<std::size_t> fewest_moves(const DefragmentationProblem& problem, const std::function<bool()>& should_stop);

}  // namespace strategies
