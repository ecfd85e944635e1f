#include "planner/strategies/eviction_order.hpp"

#include <algorithm>

#include "api/meta/well_known.hpp"

namespace strategies {
namespace {

/// Sums of positive cpu and memory amounts, the only ones that the API server considers for QoS.
struct QosSums {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

/// Adds the positive amounts. Returns true if both are positive.
bool add_positive(QosSums& sums, const api::ResourceList& list) {
  const std::int64_t cpu = std::max<std::int64_t>(0, api::amount_of(list, api::well_known::kCpu).milli());
  const std::int64_t memory = std::max<std::int64_t>(0, api::amount_of(list, api::well_known::kMemory).milli());
  sums.cpu = saturating_add(sums.cpu, cpu);
  sums.memory = saturating_add(sums.memory, memory);
  return cpu > 0 && memory > 0;
}

QosClass computed_qos(const api::Pod& pod) {
  QosSums requests;
  QosSums limits;
  bool all_limited = true;
  for (const auto* containers : {&pod.containers, &pod.init_containers}) {
    for (const api::Container& container : *containers) {
      add_positive(requests, container.requests);
      if (!add_positive(limits, container.limits)) all_limited = false;
    }
  }
  if (requests.cpu == 0 && requests.memory == 0 && limits.cpu == 0 && limits.memory == 0) return QosClass::kBestEffort;
  const bool equal = requests.cpu == limits.cpu && requests.memory == limits.memory;
  return all_limited && equal ? QosClass::kGuaranteed : QosClass::kBurstable;
}

}  // namespace

QosClass qos_of(const api::Pod& pod) {
  if (pod.qos_class == "BestEffort") return QosClass::kBestEffort;
  if (pod.qos_class == "Burstable") return QosClass::kBurstable;
  if (pod.qos_class == "Guaranteed") return QosClass::kGuaranteed;
  return computed_qos(pod);
}

EvictionRank eviction_rank(const api::Pod& pod) {
  return {pod.priority.has_value(), pod.priority.value_or(0), qos_of(pod),
          pod.meta.annotations.contains(api::well_known::kPreferNoEviction)};
}

void sort_for_eviction(std::vector<PodIndex>& pods, const ClusterSnapshot& cluster) {
  using Key = std::pair<EvictionRank, PodIndex>;
  std::vector<Key> keys;
  keys.reserve(pods.size());
  for (const PodIndex index : pods) keys.emplace_back(eviction_rank(cluster.pod(index)), index);
  std::ranges::sort(keys);
  std::ranges::transform(keys, pods.begin(), &Key::second);
}

}  // namespace strategies
