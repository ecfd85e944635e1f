#include "planner/strategies/load/measured_entries.hpp"

#include <algorithm>
#include <span>

namespace strategies {
namespace {

/// Number of pods to prefetch ahead: objects and their names are scattered in memory.
constexpr std::size_t kAhead = 16;

void fetch_ahead(const ClusterSnapshot& cluster, std::span<const PodIndex> pods, std::size_t at) {
  if (at + kAhead < pods.size()) __builtin_prefetch(&cluster.pod(pods[at + kAhead]).meta);
  if (at + kAhead / 2 < pods.size()) __builtin_prefetch(cluster.pod(pods[at + kAhead / 2]).meta.name.data());
}

std::vector<std::uint32_t> entries_of_nodes(const MeasuredUsage& measured, const ClusterSnapshot& cluster) {
  std::vector<std::uint32_t> entries(cluster.node_count(), MeasuredEntries::kNone);
  for (std::uint32_t i = 0; i < measured.nodes.size(); ++i) {
    if (const auto node = cluster.find_node(measured.nodes[i].name)) entries[*node] = i;
  }
  return entries;
}

bool is_of(const MeasuredUsage::Pod& entry, const api::ObjectMeta& pod) {
  return entry.name == pod.name && entry.ns == pod.ns;
}

bool is_before(const MeasuredUsage::Pod& entry, const api::ObjectMeta& pod) {
  const int by_namespace = entry.ns.compare(pod.ns);
  return by_namespace != 0 ? by_namespace < 0 : entry.name.compare(pod.name) < 0;
}

/// Both sides are sorted and mostly equal. Pods of the same name share one entry.
std::vector<std::uint32_t> entries_of_pods(const MeasuredUsage& measured, const ClusterSnapshot& cluster) {
  std::vector<std::uint32_t> entries(cluster.pod_table_size(), MeasuredEntries::kNone);
  const std::vector<PodIndex> pods = cluster.pods_by_name();
  const auto count = static_cast<std::uint32_t>(measured.pods.size());
  std::uint32_t next = 0;  // after the last entry that was found or skipped
  for (std::size_t i = 0; i < pods.size(); ++i) {
    fetch_ahead(cluster, pods, i);
    const api::ObjectMeta& meta = cluster.pod(pods[i]).meta;
    const auto is_at = [&](std::uint32_t entry) { return entry < count && is_of(measured.pods[entry], meta); };
    if (!is_at(next)) {
      if (next > 0 && is_at(next - 1)) {
        entries[pods[i]] = next - 1;
        continue;
      }
      while (next < count && is_before(measured.pods[next], meta)) ++next;
      if (next == count) return entries;
      if (!is_at(next)) continue;
    }
    entries[pods[i]] = next++;
  }
  return entries;
}

}  // namespace

MeasuredEntries::MeasuredEntries(const MeasuredUsage& measured, const ClusterSnapshot& cluster)
    : of_node(entries_of_nodes(measured, cluster)), of_pod(entries_of_pods(measured, cluster)) {
  for (const PodIndex pod : cluster.pods()) {
    if (of_pod[pod] == kNone) unmeasured.push_back(pod);
  }
}

std::shared_ptr<const MeasuredEntries> MeasuredEntriesMemo::of(const MeasuredUsage& measured,
                                                               const ClusterSnapshot& cluster) {
  const auto known = std::ranges::find(known_, &measured, [](const auto& entry) { return entry.first; });
  if (known != known_.end()) return known->second;
  return known_.emplace_back(&measured, std::make_shared<const MeasuredEntries>(measured, cluster)).second;
}

}  // namespace strategies
