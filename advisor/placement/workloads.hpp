#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace advising {

/// Pods of one controller, as places in SnapshotInput::pods.
struct PodGroup {
  std::string ns;
  std::string kind;  ///< "Deployment" where the ReplicaSet is one's; "Pod" without a controller
  std::string name;
  std::vector<std::size_t> pods;
};

/// Those that run on a node and do not go with it (no DaemonSet's, no mirror pods), by namespace, kind and name.
std::vector<PodGroup> pod_groups(const scheduling::SnapshotInput& cluster);

/// How many different nodes these pods are on.
std::size_t nodes_of(const scheduling::SnapshotInput& cluster, const std::vector<std::size_t>& pods);

}  // namespace advising
