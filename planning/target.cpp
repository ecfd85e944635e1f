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

/// Whole percents, as the scheduler scores. A node that is overcommitted already has none.
std::int32_t free_percent(std::int64_t free, double percent_per_unit) {
  return free <= 0 ? 0
                   : static_cast<std::int32_t>(std::min(static_cast<double>(free) * percent_per_unit + 1e-9, 100.0));
}

}  // namespace

TargetPredictor::TargetPredictor(const scheduling::ClusterSnapshot& cluster)
    : percent_per_cpu_(percent_per_unit(cluster.allocatable().column(scheduling::kCpuIndex))),
      percent_per_memory_(percent_per_unit(cluster.allocatable().column(scheduling::kMemoryIndex))) {}

/// Calls `each` with the score of every node that has room for cpu, memory and one more pod: cheap, and it leaves few
/// for the predicates.
template <typename F>
void TargetPredictor::for_each_with_room(const scheduling::Overlay& cluster, scheduling::PodIndex pod, F&& each) const {
  using scheduling::saturating_subtract;
  const auto& requests = cluster.base().requests(pod);
  const std::int64_t cpu = scheduling::amount_of(requests, scheduling::kCpuIndex);
  const std::int64_t memory = scheduling::amount_of(requests, scheduling::kMemoryIndex);
  const auto column_of = [](const scheduling::NodeResources& of, scheduling::ResourceIndex r) {
    return of.column(r).data();
  };
  const auto& all = cluster.base().allocatable();
  const auto& used = cluster.used();
  const std::int64_t* all_cpu = column_of(all, scheduling::kCpuIndex);
  const std::int64_t* all_memory = column_of(all, scheduling::kMemoryIndex);
  const std::int64_t* all_pods = column_of(all, scheduling::kPodsIndex);
  const std::int64_t* used_cpu = column_of(used, scheduling::kCpuIndex);
  const std::int64_t* used_memory = column_of(used, scheduling::kMemoryIndex);
  const std::int64_t* used_pods = column_of(used, scheduling::kPodsIndex);
  const auto count = static_cast<NodeIndex>(cluster.base().node_count());
  for (NodeIndex node = 0; node < count; ++node) {
    const std::int64_t cpu_left = saturating_subtract(saturating_subtract(all_cpu[node], used_cpu[node]), cpu);
    const std::int64_t memory_left =
        saturating_subtract(saturating_subtract(all_memory[node], used_memory[node]), memory);
    if ((cpu > 0 && cpu_left < 0) || (memory > 0 && memory_left < 0)) continue;
    if (saturating_subtract(all_pods[node], used_pods[node]) < 1000) continue;
    each(Rank{
        (free_percent(cpu_left, percent_per_cpu_[node]) + free_percent(memory_left, percent_per_memory_[node])) / 2,
        node});
  }
}

std::optional<NodeIndex> TargetPredictor::predict(const scheduling::Overlay& cluster, scheduling::PodIndex pod,
                                                  const strategies::Goal& goal) {
  Rank best{-1, scheduling::kNoNode};
  for_each_with_room(cluster, pod, [&](const Rank& rank) {
    if (rank.score > best.score) best = rank;  // the first of equals: nodes are numbered by name
  });
  if (best.node == scheduling::kNoNode) return std::nullopt;
  const scheduling::FitQuery query(cluster, pod, scheduling::FitLevel::kScheduler);
  const auto takes = [&](NodeIndex node) { return (!goal || goal(node)) && query.fits(node); };
  if (takes(best.node)) return best.node;

  // The best one nearly always fits; only where it does not, the others are put in order.
  const auto worse = [](const Rank& a, const Rank& b) {
    return a.score != b.score ? a.score < b.score : a.node > b.node;
  };
  ranks_.clear();
  for_each_with_room(cluster, pod, [&](const Rank& rank) { ranks_.push_back(rank); });
  std::ranges::make_heap(ranks_, worse);
  while (!ranks_.empty()) {
    std::ranges::pop_heap(ranks_, worse);
    const NodeIndex node = ranks_.back().node;
    ranks_.pop_back();
    if (takes(node)) return node;
  }
  return std::nullopt;
}

bool has_replacement(const api::Pod& pod) {
  return !pod.is_terminal() && !pod.meta.owner_references.empty() && !pod.is_daemon_set() && !pod.is_mirror();
}

}  // namespace planning
