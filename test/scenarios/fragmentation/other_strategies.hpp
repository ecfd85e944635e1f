#pragma once

/// Results of other strategies that empty nodes on a fragmented cluster.

#include <string>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace fragmentation {

struct Policy {
  std::string strategy;
  std::string args;
};

/// HighNodeUtilization, and AlternatingUtilization with the thresholds of its page in docs/strategies.
Policy packing();
Policy alternating();

struct Course {
  int freed = 0;   ///< nodes
  int moves = 0;   ///< a pod that moves twice counts twice
  int cycles = 0;  ///< cycles with at least one move
};

/// Plans cycle after cycle and applies each plan as predicted, until one has no moves. Ignores PodDisruptionBudgets,
/// which favors the policy.
Course run_to_the_end(scheduling::SnapshotInput cluster, const Policy& policy);

}  // namespace fragmentation
