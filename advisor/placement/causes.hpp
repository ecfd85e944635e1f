#pragma once

#include <cstddef>
#include <vector>

#include "advisor/placement/report.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace advisor {

/// A finding with its pods, as indices into SnapshotInput::pods.
struct FoundCause {
  Finding finding;
  std::vector<std::size_t> pods;
  double cpu_factor = 1;  ///< kOversizedRequests: factor for requests
  double memory_factor = 1;
};

/// Returns all findings without planning, in the order of causes, those with the most pods first. Ignores terminal pods
/// and pods of DaemonSets. `measured` is nullptr if usage was not measured.
std::vector<FoundCause> find_causes(const scheduling::SnapshotInput& cluster,
                                    const scheduling::MeasuredUsage* measured);

/// Returns the pods that no drain can evict because of their budgets, as sorted indices.
std::vector<std::size_t> blocked_pods(const scheduling::SnapshotInput& cluster);

}  // namespace advisor
