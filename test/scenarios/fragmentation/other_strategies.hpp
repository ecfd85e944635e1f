#pragma once

/// What the other strategies that empty nodes come to on a fragmented cluster.

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
  int cycles = 0;  ///< that moved something
};

/// Plans cycle after cycle, each carried out in full as it was foreseen, until one moves nothing. PodDisruptionBudgets
/// are not looked at, which is in favour of the policy.
Course run_to_the_end(scheduling::SnapshotInput cluster, const Policy& policy);

}  // namespace fragmentation
