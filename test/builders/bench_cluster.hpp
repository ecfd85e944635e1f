#pragma once

/// The benchmark cluster (docs/design/benchmark-cluster.md): N nodes, 30 N pods, byte-identical on every machine.

#include <memory>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"

namespace builders {

struct BenchCluster {
  std::vector<std::shared_ptr<const api::Node>> nodes;            ///< Sorted by name
  std::vector<std::shared_ptr<const api::Pod>> pods;              ///< Sorted by namespace and name, like a store
  std::vector<std::shared_ptr<const api::Namespace>> namespaces;  ///< Sorted by name
};

/// REQUIRES: `nodes` is at least 20, because there is one namespace per 20 nodes.
BenchCluster bench_cluster(int nodes);

/// Returns the check lines of all pods in order of their number: "<namespace>/<name> <node> <app> <cpu> <memory>\n".
std::string check_lines(int nodes);

}  // namespace builders
