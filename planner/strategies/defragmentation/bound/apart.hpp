#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Pods of which no two can share a domain, such as a node or a zone.
struct PodsApart {
  std::vector<PodIndex> pods;  ///< that have to stay somewhere
  bool is_by_node = false;     ///< each node is a domain of its own
  std::string what;            ///< "12 pods with host port 80/TCP", …
};

/// Those that repel one another where all nodes looked at have a domain, also of several workloads, those that ask for
/// one host port of all addresses, and those that are spread evenly over no fewer domains (spread.hpp).
std::vector<PodsApart> pods_apart(const DefragmentationProblem& problem);

/// How many nodes some pods of such a set need at least. Those that share one now may stay there.
std::size_t nodes_apart(const DefragmentationProblem& problem, const std::vector<PodIndex>& pods);

}  // namespace strategies
