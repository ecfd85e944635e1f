#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace strategies {

/// Whose the entries of a measurement are: found by name, in one pass over nodes and pods.
struct MeasuredEntries {
  static constexpr std::uint32_t kNone = 0xffffffff;

  MeasuredEntries(const scheduling::MeasuredUsage& measured, const scheduling::ClusterSnapshot& cluster);

  std::vector<std::uint32_t> of_node;            ///< by node: the place in MeasuredUsage::nodes, or kNone
  std::vector<std::uint32_t> of_pod;             ///< by pod: the place in MeasuredUsage::pods, or kNone
  std::vector<scheduling::PodIndex> unmeasured;  ///< pods that have none
};

/// Remembers them for one snapshot, so that all who look at the same measurement share one search. Not thread-safe.
class MeasuredEntriesMemo {
 public:
  /// REQUIRES: always the same cluster; the measurement outlives the memo.
  std::shared_ptr<const MeasuredEntries> of(const scheduling::MeasuredUsage& measured,
                                            const scheduling::ClusterSnapshot& cluster);

 private:
  std::vector<std::pair<const scheduling::MeasuredUsage*, std::shared_ptr<const MeasuredEntries>>> known_;
};

}  // namespace strategies
