#pragma once

/// The exact optimum of a small cluster, by an integer programming solver (Debian's coinor-cbc). Where every pod ends,
/// not how it gets there: what a plan in waves reaches is at most as good.

#include <optional>
#include <string>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace fragmentation {

/// What the solver is asked for.
struct ExactQuestion {
  /// nullopt: the fewest nodes with pods; else the fewest moves with at most so many nodes with pods.
  std::optional<int> most_busy{};
};

/// In the LP format of CPLEX: how many pods of each class (equal for the rules that are looked at) end on each node.
/// Rules: requests, selectors, node affinity, taints, zones of volumes, host ports, required anti-affinity and
/// affinity, topology spread with a skew of one where it is kept now, pods without a controller and those that are
/// critical for the system. Left out, so that the optimum may be too good: other topology spread, budgets, the
/// scheduler's own choice.
std::string exact_problem(const scheduling::SnapshotInput& cluster, const ExactQuestion& question);

struct ExactAnswer {
  int value = 0;           ///< no plan is better
  bool is_proven = false;  ///< it is the optimum; else only a bound
};

/// There is a `cbc` that solves problems.
bool has_solver();

/// Asks `cbc` for so many seconds at most. nullopt: there is no such program, or it has no answer.
std::optional<ExactAnswer> solve(const std::string& problem, int seconds);

}  // namespace fragmentation
