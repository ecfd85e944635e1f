#include "scheduling/scoring/resource_scores.hpp"

#include <algorithm>
#include <cmath>

namespace scheduling {
namespace {

constexpr double kTolerance = 1e-9;  // of a percent, for what division by multiplication loses

std::vector<double> percent_per_unit(const std::vector<std::int64_t>& allocatable) {
  std::vector<double> factors;
  factors.reserve(allocatable.size());
  for (const std::int64_t amount : allocatable) factors.push_back(amount > 0 ? 100.0 / static_cast<double>(amount) : 0);
  return factors;
}

/// Percent of the node that is requested, at most 100.
double percent(std::int64_t used, double percent_per_unit) {
  return std::clamp(static_cast<double>(used) * percent_per_unit, 0.0, 100.0);
}

int whole(double points) { return static_cast<int>(points + kTolerance); }

/// Half the difference is the standard deviation of two. One resource alone is always in balance.
double balance_of(double cpu, double memory) { return 100.0 - std::abs(cpu - memory) / 2; }

}  // namespace

ResourceScores::ResourceScores(const ClusterSnapshot& cluster, NodeScoring scoring, const SchedulerRules& rules)
    : scoring_(scoring),
      rules_(rules),
      percent_per_cpu_(percent_per_unit(cluster.allocatable().column(kCpuIndex))),
      percent_per_memory_(percent_per_unit(cluster.allocatable().column(kMemoryIndex))) {}

ResourceScores::Amounts ResourceScores::amounts(const Overlay& cluster, PodIndex pod, NodeIndex node,
                                                ResourceIndex resource) const {
  const ClusterSnapshot& base = cluster.base();
  const std::int64_t used = cluster.used().column(resource)[node];
  return {base.allocatable().column(resource)[node], used,
          saturating_add(used, amount_of(base.requests(pod), resource)),
          saturating_add(cluster.scored().of(resource)[node], base.scored_requests(pod).of(resource)),
          resource == kCpuIndex ? percent_per_cpu_[node] : percent_per_memory_[node]};
}

/// A node that is overcommitted has no points under LeastAllocated, and all of them under MostAllocated.
int ResourceScores::fit_points(const Amounts& amounts) const {
  if (amounts.all <= 0) return 0;
  const std::int64_t free = saturating_subtract(amounts.all, amounts.scored_with);
  const std::int64_t counted = scoring_ == NodeScoring::kLeastAllocated
                                   ? free
                                   : saturating_subtract(amounts.all, std::max<std::int64_t>(free, 0));
  return whole(percent(counted, amounts.percent_per_unit));
}

int ResourceScores::balance_points(const Amounts& cpu, const Amounts& memory) const {
  const bool asks_for_nothing = cpu.used == cpu.used_with && memory.used == memory.used_with;
  if (asks_for_nothing && rules_.balance_skips_pods_without_requests) return 0;
  if (rules_.balance == BalanceFormula::kDifference) {
    if (cpu.scored_with >= cpu.all || memory.scored_with >= memory.all) return 0;
    return whole(100.0 - std::abs(percent(cpu.scored_with, cpu.percent_per_unit) -
                                  percent(memory.scored_with, memory.percent_per_unit)));
  }
  const bool are_two = cpu.all > 0 && memory.all > 0;
  const auto balance = [&](std::int64_t Amounts::*used) {
    return are_two
               ? balance_of(percent(cpu.*used, cpu.percent_per_unit), percent(memory.*used, memory.percent_per_unit))
               : 100.0;
  };
  const double with = balance(&Amounts::used_with);
  if (rules_.balance == BalanceFormula::kDeviation) return whole(with);
  return whole(50 + (50 + with - balance(&Amounts::used)) / 2);
}

std::uint8_t ResourceScores::score(const Overlay& cluster, PodIndex pod, NodeIndex node) const {
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
