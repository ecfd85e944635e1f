#pragma once

#include "planner/snapshot/cluster_snapshot.hpp"

namespace strategies {

/// How much it disturbs when the pod moves, at least 1: 1 for a pod of no priority without limits, more for priority
/// (up to 1 for the highest), for QoS (Burstable a quarter, Guaranteed a half), for a wish to stay (1), for a VM (1,
/// and 1 for each 16 GiB of memory that a migration copies, up to 4), and for a PodDisruptionBudget (its tightness: 2
/// where it allows nothing now, else one share of what it allows).
double move_cost(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod);

/// It ends with its node, or counts for nothing on it: a DaemonSet's pod, a mirror pod, one that is on its way out.
bool goes_with_node(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod);

/// How much it disturbs to empty the node: the sum over the pods that do not go with it.
double emptying_cost(const scheduling::ClusterSnapshot& cluster, scheduling::NodeIndex node);

}  // namespace strategies
