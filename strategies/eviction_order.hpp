#pragma once

#include <vector>

#include "scheduling/snapshot/cluster_snapshot.hpp"

namespace strategies {

enum class QosClass { kBestEffort, kBurstable, kGuaranteed };

/// status.qosClass, or what it would be (upstream-semantics.md#eviction-order).
QosClass qos_of(const api::Pod& pod);

/// Cheapest to lose first: without priority, then by priority, then by QoS class, then pods that do not ask to stay;
/// ties in the order of the snapshot.
void sort_for_eviction(std::vector<scheduling::PodIndex>& pods, const scheduling::ClusterSnapshot& cluster);

}  // namespace strategies
