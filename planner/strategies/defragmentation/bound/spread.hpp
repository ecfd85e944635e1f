#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Pods kept even by a required topology spread with maxSkew 1: after any moves, each domain has `least` of them or one
/// more.
struct EvenPods {
  std::vector<PodIndex> pods;  ///< equal in their requests
  std::string topology_key;
  const scheduling::Topology* topology;  ///< covers every node
  std::size_t least;

  std::size_t domains() const { return topology->domain_names.size(); }
};

/// Finds pods that are currently even, that no node selector or affinity excludes from a node, and that all run on
/// nodes in scope. A larger maxSkew gives no bound, because the smallest domain can then lose pods.
std::vector<EvenPods> evenly_spread(const DefragmentationProblem& problem);

}  // namespace strategies
