#pragma once

#include <cstddef>
#include <functional>

#include "advisor/placement/report.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace advising {

struct PlacementQuestion {
  const scheduling::SnapshotInput& cluster;
  base::TimePoint now;
  const scheduling::MeasuredUsage* measured = nullptr;  ///< nullptr: nobody measured
  std::size_t most_plans = 40;
  /// Starts a watch that tells the time since; empty: only steps bound a plan's search, which are the same everywhere.
  std::function<std::function<base::Duration()>()> stopwatch{};
};

/// What holds the cluster fragmented or at risk. What a change frees is worked out by a plan of Defragmentation with
/// its defaults on a changed copy, beside the plan without any change. Pods that their budgets never let go stay in
/// both. Where several findings have one cause, they are also changed together, and one by one only if that gains
/// something. Findings that were planned and gain nothing are left out, but for budgets that block drains.
PlacementReport advise_placement(const PlacementQuestion& question);

/// The plan of Defragmentation.
Outcome outcome_of(const scheduling::SnapshotInput& cluster, const PlacementQuestion& question,
                   std::int32_t* busy = nullptr);

/// Thresholds of utilisation for a cluster of this size.
std::vector<Alert> alerts_for(const scheduling::SnapshotInput& cluster);

}  // namespace advising
