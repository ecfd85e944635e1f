#include "planner/strategies/load/move_cost.hpp"

#include <algorithm>
#include <cmath>

#include "api/meta/well_known.hpp"
#include "api/virtual_machine.hpp"
#include "planner/strategies/eviction_order.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxBudgets = 64;  ///< Maximum number of budgets checked per namespace

double cost_of_priority(const api::Pod& pod) {
  constexpr double kDigitsOfHighest = 9;  // one thousand million
  const double priority = pod.priority.value_or(0);
  return priority <= 0 ? 0 : std::min(std::log10(1 + priority) / kDigitsOfHighest, 1.0);
}

double cost_of_qos(const api::Pod& pod) {
  switch (qos_of(pod)) {
    case QosClass::kBestEffort: return 0;
    case QosClass::kBurstable: return 0.25;
    case QosClass::kGuaranteed: break;
  }
  return 0.5;
}

/// A live migration copies the memory.
double cost_of_vm(const ClusterSnapshot& cluster, PodIndex pod) {
  if (!api::is_launcher(cluster.pod(pod))) return 0;
  constexpr double kSixteenGiB = 16.0 * 1024 * 1024 * 1024 * 1000;  // in thousandths
  const auto memory = static_cast<double>(amount_of(cluster.requests(pod), kMemoryIndex));
  return 1 + std::clamp(memory / kSixteenGiB, 0.0, 4.0);
}

double cost_of_budgets(const ClusterSnapshot& cluster, PodIndex pod) {
  double most = 0;
  const auto budgets = cluster.pdbs_in(cluster.namespace_of(pod));
  for (const std::uint32_t at : budgets.first(std::min(budgets.size(), kMaxBudgets))) {
    const api::PodDisruptionBudget& pdb = *cluster.pdbs()[at];
    if (!pdb.covers(cluster.pod(pod))) continue;
    most = std::max(most, pdb.disruptions_allowed <= 0 ? 2.0 : 1.0 / pdb.disruptions_allowed);
  }
  return most;
}

}  // namespace

double move_cost(const ClusterSnapshot& cluster, PodIndex pod) {
  const api::Pod& object = cluster.pod(pod);
  const double wants_to_stay = object.meta.annotations.contains(api::well_known::kPreferNoEviction) ? 1 : 0;
  return 1 + cost_of_priority(object) + cost_of_qos(object) + wants_to_stay + cost_of_vm(cluster, pod) +
         cost_of_budgets(cluster, pod);
}

bool is_node_bound(const ClusterSnapshot& cluster, PodIndex pod) {
  return cluster.is_daemon_set(pod) || cluster.is_mirror(pod) || !cluster.is_staying(pod);
}

double emptying_cost(const ClusterSnapshot& cluster, NodeIndex node) {
  double cost = 0;
  for (const PodIndex pod : cluster.pods_on(node)) {
    if (!is_node_bound(cluster, pod)) cost += move_cost(cluster, pod);
  }
  return cost;
}

}  // namespace strategies
