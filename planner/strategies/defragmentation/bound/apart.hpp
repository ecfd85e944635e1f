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

/// Pods kept even by a required topology spread with maxSkew 1: after any moves, each domain has `least` of them or one
/// more.
struct EvenPods {
  std::vector<PodIndex> pods;  ///< equal in their requests
  std::string topology_key;
  const Topology* topology;  ///< covers every node
  std::size_t least;

  std::size_t domains() const { return topology->domain_names.size(); }
};

/// Finds pods that are currently even, that no node selector or affinity excludes from a node, and that all run on
/// nodes in scope. A larger maxSkew gives no bound, because the smallest domain can then lose pods.
std::vector<EvenPods> evenly_spread(const DefragmentationProblem& problem);

/// Finds sets of pods that are kept apart: by anti-affinity over a label that all nodes in scope have, also across
/// workloads; by a common host port on all addresses; and by even spread over no fewer domains than pods.
std::vector<PodsApart> pods_apart(const DefragmentationProblem& problem);

/// Minimum number of nodes for pods of such a set. Pods that currently share a node may stay there.
std::size_t nodes_apart(const DefragmentationProblem& problem, const std::vector<PodIndex>& pods);

}  // namespace strategies
