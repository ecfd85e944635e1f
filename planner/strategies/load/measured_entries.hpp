#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "planner/strategies/scheduling_names.hpp"

namespace strategies {

/// Maps nodes and pods to the entries of a measurement, by name, in one pass over both.
struct MeasuredEntries {
  static constexpr std::uint32_t kNone = 0xffffffff;

  MeasuredEntries(const MeasuredUsage& measured, const ClusterSnapshot& cluster);

  std::vector<std::uint32_t> of_node;  ///< By node: index in MeasuredUsage::nodes, or kNone
  std::vector<std::uint32_t> of_pod;   ///< By pod: index in MeasuredUsage::pods, or kNone
  std::vector<PodIndex> unmeasured;    ///< Pods without an entry
};

/// Caches MeasuredEntries for one snapshot, so that all users of a measurement share one search. Not thread-safe.
class MeasuredEntriesMemo {
 public:
  /// REQUIRES: `cluster` is the same in all calls; the measurement outlives the memo.
  std::shared_ptr<const MeasuredEntries> of(const MeasuredUsage& measured, const ClusterSnapshot& cluster);

 private:
  std::vector<std::pair<const MeasuredUsage*, std::shared_ptr<const MeasuredEntries>>> known_;
};

}  // namespace strategies
