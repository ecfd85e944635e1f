#pragma once

/// The exact optimum of a small cluster, by an integer programming solver (Debian's coinor-cbc). Computes the final
/// placement of every pod without intermediate steps, so a plan in waves is at most as good.

#include <optional>
#include <string>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace fragmentation {

/// Objective of the solver.
struct ExactQuestion {
  /// If nullopt, minimizes the number of nodes with pods. Otherwise minimizes the number of moves with at most this
  /// number of nodes with pods.
  std::optional<int> most_busy{};
};

/// Returns the problem in the LP format of CPLEX: the number of pods of each class (equal for the supported rules) on
/// each node at the end. Supported rules: requests, selectors, node affinity, taints, zones of volumes, host ports,
/// required anti-affinity and affinity, topology spread with a skew of one where it is satisfied now, pods without a
/// controller and system-critical pods. Not supported, so that the optimum may be too good: other topology spread,
/// budgets, the scheduler's own choice.
std::string exact_problem(const scheduling::SnapshotInput& cluster, const ExactQuestion& question);

struct ExactAnswer {
  int value = 0;           ///< optimum, or a bound of it
  bool is_proven = false;  ///< whether `value` is the optimum; otherwise it is only a bound
};

/// Returns true if a working `cbc` is installed.
bool has_solver();

/// Runs `cbc` for at most `seconds`. Returns nullopt if it is not installed or finds no answer.
std::optional<ExactAnswer> solve(const std::string& problem, int seconds);

}  // namespace fragmentation
