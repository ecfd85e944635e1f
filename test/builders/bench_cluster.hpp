#pragma once

/// The benchmark cluster (docs/design/benchmark-cluster.md): N nodes, 30 N pods, the same to the byte everywhere.

#include <memory>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"

namespace builders {

struct BenchCluster {
  std::vector<std::shared_ptr<const api::Node>> nodes;            ///< by name
  std::vector<std::shared_ptr<const api::Pod>> pods;              ///< by namespace and name, as a store lists them
  std::vector<std::shared_ptr<const api::Namespace>> namespaces;  ///< by name
};

/// REQUIRES: `nodes` is at least 20, so that there is a namespace.
BenchCluster bench_cluster(int nodes);

/// The check lines of all pods in order of their number: "<namespace>/<name> <node> <app> <cpu> <memory>\n".
std::string check_lines(int nodes);

}  // namespace builders
