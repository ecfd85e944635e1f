#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "planner/strategies/scheduling_names.hpp"

namespace strategies {

enum class QosClass { kBestEffort, kBurstable, kGuaranteed };

/// Returns status.qosClass, or the class computed from the spec if it is unset (upstream-semantics.md#eviction-order).
QosClass qos_of(const api::Pod& pod);

/// Order of eviction, pods with the least loss first: pods without priority, then by priority, then by QoS class, then
/// pods that do not ask to stay.
struct EvictionRank {
  bool has_priority = false;
  std::int32_t priority = 0;
  QosClass qos = QosClass::kBestEffort;
  bool wants_to_stay = false;
  friend auto operator<=>(const EvictionRank&, const EvictionRank&) = default;
};
EvictionRank eviction_rank(const api::Pod& pod);

/// Sorts by EvictionRank. Ties keep the order of the snapshot.
void sort_for_eviction(std::vector<PodIndex>& pods, const ClusterSnapshot& cluster);

}  // namespace strategies
