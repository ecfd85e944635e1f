#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace advisor {

/// Pods of one controller, as indices into SnapshotInput::pods.
struct PodGroup {
  std::string ns;
  std::string kind;  ///< "Deployment" for ReplicaSets of a Deployment; "Pod" for pods without a controller
  std::string name;
  std::vector<std::size_t> pods;
};

/// Returns all bound pods except terminal, DaemonSet and mirror pods, sorted by namespace, kind and name.
std::vector<PodGroup> pod_groups(const scheduling::SnapshotInput& cluster);

std::size_t nodes_of(const scheduling::SnapshotInput& cluster, const std::vector<std::size_t>& pods);

}  // namespace advisor
