#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// A PreferNoSchedule taint set by a policy, so that the scheduler prefers other nodes.
struct SoftTaint {
  std::string key;
  std::string value;
  std::vector<NodeIndex> nodes;  ///< sorted, without duplicates
  friend bool operator==(const SoftTaint&, const SoftTaint&) = default;
};

/// Soft taints of a WhatIf, indexed for scoring: a plan queries thousands of tainted nodes for each pod. Immutable, so
/// threads and copies of the WhatIf can share it.
struct SoftTaintTable {
  SoftTaintTable(const ClusterSnapshot& base, std::vector<SoftTaint> taints);

  /// Returns true if one of the soft taints has this key and value.
  bool holds(const api::Taint& taint) const;

  std::vector<SoftTaint> all;  ///< one entry per key and value
  std::vector<bool> bears;     ///< indexed by node; true if the node has one of them
  /// Sorted nodes where each taint of `all` adds to the score. A node has at most one taint per key and effect, and
  /// that of another policy already counts.
  std::vector<std::vector<NodeIndex>> where;
  std::vector<std::uint8_t> count;  ///< indexed by node: number of taints for a pod that tolerates none
  std::uint8_t most = 0;            ///< maximum of `count`
  std::vector<NodeIndex> foreign;   ///< sorted nodes with a PreferNoSchedule taint that is not in `all`
};

}  // namespace scheduling
