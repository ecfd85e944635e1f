#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Pods that a required topology spread with a skew of one keeps even: whatever moves, each domain has `least` of them
/// or one more.
struct EvenPods {
  std::vector<PodIndex> pods;  ///< equal in what they request
  std::string topology_key;
  const scheduling::Topology* topology;  ///< of which every node is a part
  std::size_t least;

  std::size_t domains() const { return topology->domain_names.size(); }
};

/// Those that are even now, that no node selector or affinity keeps off a node, and that all run on nodes that are
/// looked at. A larger skew bounds nothing: where the fewest are, fewer may be.
std::vector<EvenPods> evenly_spread(const DefragmentationProblem& problem);

}  // namespace strategies
