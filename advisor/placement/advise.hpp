#pragma once

#include <cstddef>
#include <functional>

#include "advisor/placement/report.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace advisor {

struct PlacementInput {
  const scheduling::SnapshotInput& cluster;
  base::TimePoint now;
  const scheduling::MeasuredUsage* measured = nullptr;  ///< nullptr if usage was not measured
  std::size_t max_plans = 40;
  /// Starts a stopwatch and returns a function that reads it. If empty, only the number of steps limits a plan's
  /// search, which makes results reproducible.
  std::function<std::function<base::Duration()>()> stopwatch{};
};

/// Finds what keeps the cluster fragmented or at risk. To estimate the effect of a change, plans Defragmentation with
/// default settings on a changed copy of the cluster and compares it with the plan for the unchanged cluster. Pods
/// whose budgets never allow an eviction stay in both. Several findings with one cause are first changed together, and
/// then one by one only if that gains something. Planned findings without a gain are left out, except for budgets that
/// block drains.
PlacementReport advise_placement(const PlacementInput& question);

/// Plans Defragmentation and returns its outcome. Sets `*busy` to the number of nodes with pods, if not nullptr.
Outcome outcome_of(const scheduling::SnapshotInput& cluster, const PlacementInput& question,
                   std::int32_t* busy = nullptr);

/// Returns utilization alerts with thresholds for the size of this cluster.
std::vector<Alert> alerts_for(const scheduling::SnapshotInput& cluster);

}  // namespace advisor
