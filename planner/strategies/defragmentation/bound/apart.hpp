#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Pods of which no two can share a domain, such as a node or a zone.
struct PodsApart {
  std::vector<PodIndex> pods;  ///< pods that have to stay somewhere
  bool is_by_node = false;     ///< each node is its own domain
  std::string what;            ///< "12 pods with host port 80/TCP", …
};

/// Finds sets of pods that are kept apart: by anti-affinity over a label that all nodes in scope have, also across
/// workloads; by a common host port on all addresses; and by even spread over no fewer domains than pods (spread.hpp).
std::vector<PodsApart> pods_apart(const DefragmentationProblem& problem);

/// Minimum number of nodes for pods of such a set. Pods that currently share a node may stay there.
std::size_t nodes_apart(const DefragmentationProblem& problem, const std::vector<PodIndex>& pods);

}  // namespace strategies
