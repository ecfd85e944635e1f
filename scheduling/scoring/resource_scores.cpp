#include "scheduling/scoring/resource_scores.hpp"

#include <algorithm>
#include <cmath>

namespace scheduling {
namespace {

// What a pod counts for that asks for nothing, in thousandths, as in kube-scheduler: else such pods would all meet.
constexpr std::int64_t kSupposedCpu = 100;
constexpr std::int64_t kSupposedMemory = 200LL * 1024 * 1024 * 1000;
constexpr double kTolerance = 1e-9;  // of a percent, for what division by multiplication loses

std::vector<double> percent_per_unit(const std::vector<std::int64_t>& allocatable) {
  std::vector<double> factors;
  factors.reserve(allocatable.size());
  for (const std::int64_t amount : allocatable) factors.push_back(amount > 0 ? 100.0 / static_cast<double>(amount) : 0);
  return factors;
}

/// Amounts of one resource on one node, the pod left out.
struct NodeCapacity {
  std::int64_t all;
  std::int64_t free;
};

NodeCapacity capacity_of(const Overlay& cluster, NodeIndex node, ResourceIndex resource) {
  const std::int64_t all = cluster.base().allocatable().column(resource)[node];
  return {all, saturating_subtract(all, cluster.used().column(resource)[node])};
}

struct ResourceRequest {
  std::int64_t amount;    ///< what the filters look at
  std::int64_t supposed;  ///< what the score looks at
};

ResourceRequest request_of(const RequestSet& requests, ResourceIndex resource, std::int64_t otherwise) {
  for (const auto& [each, amount] : requests) {
    if (each == resource) return {amount, amount};
  }
  return {0, otherwise};
}

/// Percent of the node that is requested, at most 100.
double used_percent(const NodeCapacity& capacity, std::int64_t asked, double percent_per_unit) {
  const std::int64_t used = saturating_subtract(capacity.all, saturating_subtract(capacity.free, asked));
  return std::clamp(static_cast<double>(used) * percent_per_unit, 0.0, 100.0);
}

int balance_points(const NodeCapacity& cpu, double cpu_percent, const NodeCapacity& memory, double memory_percent) {
  if (cpu.all <= 0 || memory.all <= 0) return 100;  // one resource is always in balance
  return static_cast<int>(100.0 - std::abs(cpu_percent - memory_percent) / 2 + kTolerance);
}

}  // namespace

ResourceScores::ResourceScores(const ClusterSnapshot& cluster, NodeScoring scoring, const ScoreWeights& weights)
    : scoring_(scoring),
      fit_weight_(weights.fit),
      balance_weight_(weights.balance),
      percent_per_cpu_(percent_per_unit(cluster.allocatable().column(kCpuIndex))),
      percent_per_memory_(percent_per_unit(cluster.allocatable().column(kMemoryIndex))) {}

/// `free` with the pod on the node. A node that is overcommitted has no points under LeastAllocated, and all of them
/// under MostAllocated.
int ResourceScores::points(std::int64_t free, std::int64_t all, double percent_per_unit) const {
  if (all <= 0) return 0;
  const std::int64_t counted =
      scoring_ == NodeScoring::kLeastAllocated ? free : saturating_subtract(all, std::max<std::int64_t>(free, 0));
  return static_cast<int>(std::clamp(static_cast<double>(counted) * percent_per_unit + kTolerance, 0.0, 100.0));
}

std::uint8_t ResourceScores::score(const Overlay& cluster, const RequestSet& requests, NodeIndex node) const {
  const ResourceRequest cpu = request_of(requests, kCpuIndex, kSupposedCpu);
  const ResourceRequest memory = request_of(requests, kMemoryIndex, kSupposedMemory);
  const NodeCapacity cpu_capacity = capacity_of(cluster, node, kCpuIndex);
  const NodeCapacity memory_capacity = capacity_of(cluster, node, kMemoryIndex);
  if (cpu.amount > 0 && cpu_capacity.free < cpu.amount) return kNoCapacity;
  if (memory.amount > 0 && memory_capacity.free < memory.amount) return kNoCapacity;
  if (capacity_of(cluster, node, kPodsIndex).free < 1000) return kNoCapacity;
  const double per_cpu = percent_per_cpu_[node];
  const double per_memory = percent_per_memory_[node];
  const int fit =
      (points(saturating_subtract(cpu_capacity.free, cpu.supposed), cpu_capacity.all, per_cpu) +
       points(saturating_subtract(memory_capacity.free, memory.supposed), memory_capacity.all, per_memory)) /
      2;
  const int balance = balance_points(cpu_capacity, used_percent(cpu_capacity, cpu.amount, per_cpu), memory_capacity,
                                     used_percent(memory_capacity, memory.amount, per_memory));
  return static_cast<std::uint8_t>(fit_weight_ * fit + balance_weight_ * balance);
}

}  // namespace scheduling
