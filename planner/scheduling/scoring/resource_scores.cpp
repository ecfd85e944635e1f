#include "planner/scheduling/scoring/resource_scores.hpp"

#include <algorithm>
#include <cmath>

namespace scheduling {
namespace {

constexpr int kMaxPoints = 100;

/// Returns requested / allocatable, at most 1. Rounds once, in the order of kube-scheduler's own division; a different
/// computation may truncate to another point.
double share(std::int64_t requested, std::int64_t allocatable) {
  return std::min(static_cast<double>(requested) / static_cast<double>(allocatable), 1.0);
}

/// Truncates like Go's conversion to int64.
int points(double deviation) { return static_cast<int>((1 - deviation) * kMaxPoints); }

/// The standard deviation of two shares is half their difference. A single resource is always in balance.
int balance_of(std::int64_t cpu, std::int64_t all_cpu, std::int64_t memory, std::int64_t all_memory) {
  if (all_cpu == 0 || all_memory == 0) return kMaxPoints;
  return points(std::abs((share(cpu, all_cpu) - share(memory, all_memory)) / 2));
}

/// Returns part * 100 / whole in integers. REQUIRES: 0 <= part <= whole, 0 < whole.
int percent(std::int64_t part, std::int64_t whole) {
  std::int64_t scaled = 0;
  if (!__builtin_mul_overflow(part, std::int64_t{kMaxPoints}, &scaled)) return static_cast<int>(scaled / whole);
  return static_cast<int>(part / (whole / kMaxPoints));
}

}  // namespace

ResourceScores::Amounts ResourceScores::amounts(const WhatIf& cluster, PodIndex pod, NodeIndex node,
                                                ResourceIndex resource) {
  const ClusterSnapshot& base = cluster.base();
  const std::int64_t used = cluster.used().column(resource)[node];
  const std::int64_t wanted = amount_of(base.requests(pod), resource);
  const std::int64_t scored =
      saturating_add(cluster.scored().of(resource)[node], base.scored_requests(pod).of(resource));
  return {comparable(resource, base.allocatable().column(resource)[node]), comparable(resource, used),
          comparable(resource, saturating_add(used, wanted)), comparable(resource, scored)};
}

/// An overcommitted node gets 0 points under LeastAllocated and the maximum under MostAllocated.
int ResourceScores::fit_points(const Amounts& amounts) const {
  if (amounts.all <= 0) return 0;
  const std::int64_t requested = std::clamp<std::int64_t>(amounts.scored_with, 0, amounts.all);
  return percent(scoring_ == NodeScoring::kLeastAllocated ? amounts.all - requested : requested, amounts.all);
}

int ResourceScores::balance_points(const Amounts& cpu, const Amounts& memory) const {
  const bool asks_for_nothing = cpu.used == cpu.used_with && memory.used == memory.used_with;
  if (asks_for_nothing && rules_.balance_skips_pods_without_requests) return 0;
  if (rules_.balance == BalanceFormula::kDifference) {
    if (cpu.scored_with >= cpu.all || memory.scored_with >= memory.all) return 0;
    return points(std::abs(share(cpu.scored_with, cpu.all) - share(memory.scored_with, memory.all)));
  }
  const int with = balance_of(cpu.used_with, cpu.all, memory.used_with, memory.all);
  if (rules_.balance == BalanceFormula::kDeviation) return with;
  const int without = balance_of(cpu.used, cpu.all, memory.used, memory.all);
  return kMaxPoints / 2 + (kMaxPoints / 2 + with - without) / 2;
}

std::uint8_t ResourceScores::score(const WhatIf& cluster, PodIndex pod, NodeIndex node) const {
  const Amounts cpu = amounts(cluster, pod, node, kCpuIndex);
  const Amounts memory = amounts(cluster, pod, node, kMemoryIndex);
  if (cpu.used_with > cpu.all && cpu.used_with > cpu.used) return kNoCapacity;
  if (memory.used_with > memory.all && memory.used_with > memory.used) return kNoCapacity;
  const ClusterSnapshot& base = cluster.base();
  if (base.allocatable().column(kPodsIndex)[node] - cluster.used().column(kPodsIndex)[node] < 1000) return kNoCapacity;
  const int fit = (fit_points(cpu) + fit_points(memory)) / 2;
  return static_cast<std::uint8_t>(rules_.weights.fit * fit + rules_.weights.balance * balance_points(cpu, memory));
}

}  // namespace scheduling
