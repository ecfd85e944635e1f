#pragma once

#include <cstdint>
#include <vector>

#include "planner/scheduling/soft_taint.hpp"

namespace scheduling {

/// The soft taints of an overlay, made ready for scores: a plan asks for each pod what thousands of tainted nodes
/// count. Does not change; safe to share between threads and copies of the overlay.
struct SoftTaintTable {
  SoftTaintTable(const ClusterSnapshot& base, std::vector<SoftTaint> taints);

  /// One of them has this key and value.
  bool holds(const api::Taint& taint) const;

  std::vector<SoftTaint> all;                 ///< one for each key and value
  std::vector<bool> bears;                    ///< by node: one of them
  std::vector<std::vector<NodeIndex>> where;  ///< of each, the nodes where it counts, sorted: a node bears one taint of
                                              ///< a key and effect at most, and that of another policy counts already
  std::vector<std::uint8_t> count;            ///< by node: what counts for a pod that tolerates none of them
  std::uint8_t most = 0;                      ///< of these
  std::vector<NodeIndex> foreign;             ///< nodes with a taint PreferNoSchedule that is none of them, sorted
};

}  // namespace scheduling
