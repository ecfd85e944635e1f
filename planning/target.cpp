#include "planning/target.hpp"

#include <algorithm>
#include <cstring>

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

/// What would be free of one resource with the pod on the node.
std::int64_t left(const scheduling::Overlay& cluster, NodeIndex node, scheduling::ResourceIndex resource,
                  std::int64_t wanted) {
  using scheduling::saturating_subtract;
  const std::int64_t all = cluster.base().allocatable().column(resource)[node];
  return saturating_subtract(saturating_subtract(all, cluster.used().column(resource)[node]), wanted);
}

/// memchr, because std::find looks at one byte after the other.
const std::uint8_t* next_with(int score, const std::uint8_t* first, const std::uint8_t* last) {
  if (first == last) return last;
  const void* at = std::memchr(first, score, static_cast<std::size_t>(last - first));
  return at == nullptr ? last : static_cast<const std::uint8_t*>(at);
}

}  // namespace

TargetPredictor::TargetPredictor(const scheduling::ClusterSnapshot& cluster)
    : percent_per_cpu_(percent_per_unit(cluster.allocatable().column(scheduling::kCpuIndex))),
      percent_per_memory_(percent_per_unit(cluster.allocatable().column(scheduling::kMemoryIndex))) {}

/// Looks at cpu, memory and one more pod only: cheap, and it leaves few for the predicates.
std::uint8_t TargetPredictor::score(const scheduling::Overlay& cluster, const scheduling::RequestSet& requests,
                                    NodeIndex node) const {
  const std::int64_t cpu = scheduling::amount_of(requests, scheduling::kCpuIndex);
  const std::int64_t memory = scheduling::amount_of(requests, scheduling::kMemoryIndex);
  const std::int64_t cpu_left = left(cluster, node, scheduling::kCpuIndex, cpu);
  const std::int64_t memory_left = left(cluster, node, scheduling::kMemoryIndex, memory);
  if ((cpu > 0 && cpu_left < 0) || (memory > 0 && memory_left < 0)) return kNoRoom;
  if (left(cluster, node, scheduling::kPodsIndex, 1000) < 0) return kNoRoom;
  return static_cast<std::uint8_t>(
      (free_percent(cpu_left, percent_per_cpu_[node]) + free_percent(memory_left, percent_per_memory_[node])) / 2);
}

TargetPredictor::Ranking& TargetPredictor::ranking_of(const scheduling::Overlay& cluster, scheduling::PodIndex pod) {
  const std::uint32_t set = cluster.base().request_set_of(pod);
  if (rankings_.size() >= kMostRankings && !rankings_.contains(set)) rankings_.clear();
  const auto& requests = cluster.base().requests(pod);
  const auto& changes = cluster.changes();
  Ranking& ranking = rankings_[set];
  const std::size_t nodes = cluster.base().node_count();
  if (ranking.score.size() != nodes || changes.size() - ranking.seen > nodes) {
    ranking.score.resize(nodes);
    ranking.with_score.fill(0);
    for (NodeIndex node = 0; node < nodes; ++node) {
      const std::uint8_t now = ranking.score[node] = score(cluster, requests, node);
      if (now != kNoRoom) ++ranking.with_score[now];
    }
    ranking.seen = changes.size();
  }
  for (; ranking.seen < changes.size(); ++ranking.seen) {
    std::uint8_t& known = ranking.score[changes[ranking.seen]];
    if (known != kNoRoom) --ranking.with_score[known];
    known = score(cluster, requests, changes[ranking.seen]);
    if (known != kNoRoom) ++ranking.with_score[known];
  }
  return ranking;
}

std::optional<NodeIndex> TargetPredictor::predict(const scheduling::Overlay& cluster, scheduling::PodIndex pod,
                                                  const strategies::Goal& goal) {
  const Ranking& ranking = ranking_of(cluster, pod);
  const std::uint8_t* const first = ranking.score.data();
  const std::uint8_t* const last = first + ranking.score.size();
  const scheduling::FitQuery query(cluster, pod, scheduling::FitLevel::kScheduler);
  for (int score = kBestScore; score >= 0; --score) {
    if (ranking.with_score[score] == 0) continue;
    for (const std::uint8_t* at = next_with(score, first, last); at != last; at = next_with(score, at + 1, last)) {
      const auto node = static_cast<NodeIndex>(at - first);
      if ((!goal || goal(node)) && query.fits(node)) return node;
    }
  }
  return std::nullopt;
}

bool has_replacement(const api::Pod& pod) {
  return !pod.is_terminal() && !pod.meta.owner_references.empty() && !pod.is_daemon_set() && !pod.is_mirror();
}

}  // namespace planning
