#pragma once

#include <cstddef>
#include <vector>

#include "advisor/placement/report.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace advising {

/// A finding with the pods that it is about, as places in SnapshotInput::pods.
struct FoundCause {
  Finding finding;
  std::vector<std::size_t> pods;
  double cpu_factor = 1;  ///< of kOversizedRequests: what requests are to be multiplied by
  double memory_factor = 1;
};

/// What there is to say about the cluster, without any plan: in the order of the causes, the most pods first. Terminal
/// pods and those of DaemonSets are left out. `measured`: nullptr, nobody measured.
std::vector<FoundCause> find_causes(const scheduling::SnapshotInput& cluster,
                                    const scheduling::MeasuredUsage* measured);

/// Pods that no drain gets off their nodes for their budgets: as places, sorted.
std::vector<std::size_t> blocked_pods(const scheduling::SnapshotInput& cluster);

/// The cluster with these changes made. REQUIRES: they are of find_causes() for the same cluster.
scheduling::SnapshotInput with_changes(const scheduling::SnapshotInput& cluster,
                                       const std::vector<const FoundCause*>& causes, Grade grade);

/// The finding as it reads with the constraint dropped: its change and risk.
void drop_constraint(Finding& finding);

}  // namespace advising
