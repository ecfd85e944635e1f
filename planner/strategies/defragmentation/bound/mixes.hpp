#pragma once

/// Combines cpu and memory into one amount, so that nodes can be counted by both: a node with much of one may lack the
/// other.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

constexpr int kMixParts = 8;  // number of steps of the cpu weight from 0 to 1

/// Weights of cpu (`cpu`) and memory (1 - `cpu`), in units of an average node.
inline std::array<std::pair<ResourceIndex, double>, 2> weights_of_mix(double cpu) {
  constexpr double kUnits = 1e9;
  return {std::pair(kCpuIndex, kUnits * cpu), std::pair(kMemoryIndex, kUnits * (1 - cpu))};
}

/// Average allocatable of the nodes in scope; 1 if they have none.
inline double average_offer(const DefragmentationProblem& problem, ResourceIndex resource) {
  double sum = 0;
  for (const NodeIndex node : problem.nodes())
    sum += static_cast<double>(problem.base().allocatable().get(node, resource));
  return sum <= 0 ? 1 : sum / static_cast<double>(problem.nodes().size());
}

// Sums of floating-point numbers are rounded so that the result remains a valid bound.
inline std::vector<std::int64_t> rounded_up(const std::vector<double>& capacity) {
  std::vector<std::int64_t> rounded;
  for (const double each : capacity) rounded.push_back(static_cast<std::int64_t>(each) + 1);
  return rounded;
}
inline std::int64_t rounded_down(double wanted) { return static_cast<std::int64_t>(wanted * (1 - 1e-9)); }

}  // namespace strategies
