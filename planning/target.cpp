#include "planning/target.hpp"

#include <algorithm>

#include "scheduling/predicates.hpp"

namespace planning {
namespace {

using scheduling::NodeIndex;

std::vector<double> percent_per_unit(const std::vector<std::int64_t>& allocatable) {
  std::vector<double> factors;
  factors.reserve(allocatable.size());
  for (const std::int64_t amount : allocatable) factors.push_back(amount > 0 ? 100.0 / static_cast<double>(amount) : 0);
  return factors;
}

std::int32_t free_percent(std::int64_t free, double percent_per_unit) {
  return static_cast<std::int32_t>(static_cast<double>(free) * percent_per_unit + 1e-9);
}

}  // namespace

TargetPredictor::TargetPredictor(const scheduling::ClusterSnapshot& cluster)
    : percent_per_cpu_(percent_per_unit(cluster.allocatable().column(scheduling::kCpuIndex))),
      percent_per_memory_(percent_per_unit(cluster.allocatable().column(scheduling::kMemoryIndex))) {}

/// Only nodes with room for cpu, memory and one more pod: cheap, and it leaves few for the predicates.
void TargetPredictor::rank_nodes(const scheduling::Overlay& cluster, scheduling::PodIndex pod) {
  using scheduling::saturating_subtract;
  const auto& requests = cluster.base().requests(pod);
  const std::int64_t cpu = scheduling::amount_of(requests, scheduling::kCpuIndex);
  const std::int64_t memory = scheduling::amount_of(requests, scheduling::kMemoryIndex);
  const auto& all = cluster.base().allocatable();
  const auto& used = cluster.used();
  const auto free = [&](scheduling::ResourceIndex resource, NodeIndex node) {
    return saturating_subtract(all.column(resource)[node], used.column(resource)[node]);
  };
  ranks_.clear();
  for (const NodeIndex node : cluster.base().nodes()) {
    const std::int64_t cpu_left = saturating_subtract(free(scheduling::kCpuIndex, node), cpu);
    const std::int64_t memory_left = saturating_subtract(free(scheduling::kMemoryIndex, node), memory);
    if ((cpu > 0 && cpu_left < 0) || (memory > 0 && memory_left < 0)) continue;
    if (free(scheduling::kPodsIndex, node) < 1000) continue;
    const std::int32_t score = (free_percent(cpu_left, percent_per_cpu_[node]) +
                                free_percent(memory_left, percent_per_memory_[node])) / 2;
    ranks_.push_back({score, node});
  }
}

std::optional<NodeIndex> TargetPredictor::predict(const scheduling::Overlay& cluster, scheduling::PodIndex pod) {
  rank_nodes(cluster, pod);
  const auto worse = [](const Rank& a, const Rank& b) {
    return a.score != b.score ? a.score < b.score : a.node > b.node;  // nodes are numbered by name
  };
  const scheduling::FitQuery query(cluster, pod, scheduling::FitLevel::kScheduler);
  // The best one nearly always passes: look for it alone before putting all in order.
  const auto best = std::ranges::max_element(ranks_, worse);
  if (best == ranks_.end()) return std::nullopt;
  if (query.fits(best->node)) return best->node;
  std::ranges::make_heap(ranks_, worse);
  while (!ranks_.empty()) {
    std::ranges::pop_heap(ranks_, worse);
    const NodeIndex node = ranks_.back().node;
    ranks_.pop_back();
    if (query.fits(node)) return node;
  }
  return std::nullopt;
}

bool has_replacement(const api::Pod& pod) {
  return !pod.is_terminal() && !pod.meta.owner_references.empty() && !pod.is_daemon_set() && !pod.is_mirror();
}

}  // namespace planning
