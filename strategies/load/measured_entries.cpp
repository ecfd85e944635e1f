#include "strategies/load/measured_entries.hpp"

#include <algorithm>
#include <span>

namespace strategies {
namespace {

using scheduling::ClusterSnapshot;
using scheduling::MeasuredUsage;
using scheduling::PodIndex;

/// Objects lie anywhere in memory: so many are fetched ahead.
constexpr std::size_t kAhead = 8;

std::vector<std::uint32_t> entries_of_nodes(const MeasuredUsage& measured, const ClusterSnapshot& cluster) {
  std::vector<std::uint32_t> entries(cluster.node_count(), MeasuredEntries::kNone);
  for (std::uint32_t i = 0; i < measured.nodes.size(); ++i) {
    if (const auto node = cluster.find_node(measured.nodes[i].name)) entries[*node] = i;
  }
  return entries;
}

int compare(const MeasuredUsage::Pod& entry, const api::ObjectMeta& pod) {
  const int by_namespace = entry.ns.compare(pod.ns);
  return by_namespace != 0 ? by_namespace : entry.name.compare(pod.name);
}

/// Both sides are sorted.
std::vector<std::uint32_t> entries_of_pods(const MeasuredUsage& measured, const ClusterSnapshot& cluster) {
  std::vector<std::uint32_t> entries(cluster.pod_count(), MeasuredEntries::kNone);
  const std::span<const PodIndex> pods = cluster.pods_by_name();
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (i + kAhead < pods.size()) cluster.prefetch(pods[i + kAhead]);
    const api::ObjectMeta& meta = cluster.pod(pods[i]).meta;
    int compared = -1;
    while (at < measured.pods.size() && (compared = compare(measured.pods[at], meta)) < 0) ++at;
    if (at == measured.pods.size()) return entries;
    if (compared == 0) entries[pods[i]] = at;
  }
  return entries;
}

}  // namespace

MeasuredEntries::MeasuredEntries(const MeasuredUsage& measured, const ClusterSnapshot& cluster)
    : of_node(entries_of_nodes(measured, cluster)), of_pod(entries_of_pods(measured, cluster)) {}

std::shared_ptr<const MeasuredEntries> MeasuredEntriesMemo::of(const MeasuredUsage& measured,
                                                               const ClusterSnapshot& cluster) {
  const auto known = std::ranges::find(known_, &measured, [](const auto& entry) { return entry.first; });
  if (known != known_.end()) return known->second;
  return known_.emplace_back(&measured, std::make_shared<const MeasuredEntries>(measured, cluster)).second;
}

}  // namespace strategies
