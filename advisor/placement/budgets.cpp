#include "advisor/placement/budgets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace advisor {
namespace {

constexpr std::int64_t kAll = 100;  ///< percent

}  // namespace

std::vector<CoveredPods> covered_pods(const scheduling::SnapshotInput& cluster) {
  std::vector<CoveredPods> all;
  std::map<std::string_view, std::vector<std::size_t>> budgets;  // by namespace
  for (const auto& budget : cluster.pdbs) {
    budgets[budget->meta.ns].push_back(all.size());
    all.push_back({budget.get(), {}});
  }
  for (std::size_t i = 0; i < cluster.pods.size(); ++i) {
    const api::Pod& pod = *cluster.pods[i];
    const auto here = budgets.find(pod.meta.ns);
    if (here == budgets.end() || pod.is_terminal()) continue;
    for (const std::size_t each : here->second) {
      if (all[each].budget->covers(pod)) all[each].pods.push_back(i);
    }
  }
  return all;
}

std::string why_blocking(const CoveredPods& covered) {
  const api::PodDisruptionBudget& budget = *covered.budget;
  if (covered.pods.empty()) return {};
  if (!budget.sync_failure.empty()) return "the disruption controller cannot compute it: " + budget.sync_failure;
  if (budget.max_unavailable && budget.max_unavailable->value == 0) return "maxUnavailable is 0";
  if (!budget.min_available) return {};
  const api::IntOrPercent& least = *budget.min_available;
  if (least.percent) return least.value >= kAll ? fmt::format("minAvailable is {} %", least.value) : std::string();
  const auto expected = std::max<std::int64_t>(budget.expected_pods, static_cast<std::int64_t>(covered.pods.size()));
  return least.value >= expected ? fmt::format("minAvailable is {} of {} pods", least.value, expected) : std::string();
}

}  // namespace advisor
