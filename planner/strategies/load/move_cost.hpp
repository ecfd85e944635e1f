#pragma once

#include "planner/strategies/scheduling_names.hpp"

namespace strategies {

/// Disruption cost of moving the pod, at least 1: 1 for a pod without priority and limits, plus priority (up to 1 for
/// the highest), QoS (Burstable 0.25, Guaranteed 0.5), a preference not to be evicted (1), a VM (1, plus 1 for each 16
/// GiB of memory that a migration copies, up to 4), and a PodDisruptionBudget (2 if it allows no disruption now, else
/// 1 divided by the number of allowed disruptions).
double move_cost(const ClusterSnapshot& cluster, PodIndex pod);

/// Returns whether the pod ends with its node or is leaving it: DaemonSet pods, mirror pods and leaving pods.
bool is_node_bound(const ClusterSnapshot& cluster, PodIndex pod);

/// Disruption cost of emptying the node: the sum over the pods that do not end with it.
double emptying_cost(const ClusterSnapshot& cluster, NodeIndex node);

}  // namespace strategies
