#include "planner/scheduling/pdb_budget.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scheduling {
namespace {

/// Returns true for pods that the API server evicts without checking a PodDisruptionBudget.
bool bypasses_pdbs(const api::Pod& pod) {
  return pod.is_terminal() || pod.phase == api::PodPhase::kPending || pod.meta.is_terminating();
}

/// Returns true if the API server lets an unready pod go without charging the budget: the budget allows it, or enough
/// other pods are healthy.
bool is_evictable_as_unhealthy(const api::PodDisruptionBudget& pdb, const api::Pod& pod) {
  if (pod.is_ready()) return false;
  return pdb.always_allow_unhealthy || (pdb.desired_healthy > 0 && pdb.current_healthy >= pdb.desired_healthy);
}

}  // namespace

PdbBudgets::PdbBudgets(const ClusterSnapshot& cluster) : cluster_(&cluster) {
  allowed_.reserve(cluster.pdbs().size());
  for (const auto& pdb : cluster.pdbs()) allowed_.push_back(pdb->disruptions_allowed);
}

PdbBudgets::Charge PdbBudgets::charge_for(PodIndex index) const {
  const api::Pod& pod = cluster_->pod(index);
  if (bypasses_pdbs(pod)) return {};
  std::optional<std::uint32_t> found;
  for (const std::uint32_t candidate : cluster_->pdbs_in(cluster_->namespace_of(index))) {
    if (!cluster_->pdbs()[candidate]->covers(pod)) continue;
    if (found) {
      return {Refusal{"MultiplePDBs",
                      "more than one PodDisruptionBudget covers it, among them {subject}; the API "
                      "server refuses such evictions",
                      cluster_->pdbs()[*found]->meta.name},
              {}};
    }
    found = candidate;
  }
  if (!found || is_evictable_as_unhealthy(*cluster_->pdbs()[*found], pod)) return {};
  const api::PodDisruptionBudget& pdb = *cluster_->pdbs()[*found];
  if (pdb.observed_generation < pdb.meta.generation) {
    return {Refusal{"PDBWouldBlock", "the PodDisruptionBudget {subject} was changed and is not processed yet",
                    pdb.meta.name},
            {}};
  }
  if (allowed_[*found] > 0) return {std::nullopt, found};
  return {Refusal{"PDBWouldBlock",
                  "the PodDisruptionBudget {subject} allows no more disruptions ({available} pods "
                  "healthy, {wanted} desired)",
                  pdb.meta.name, pdb.desired_healthy, pdb.current_healthy},
          {}};
}

void PdbBudgets::spend(PodIndex pod) {
  const Charge charge = charge_for(pod);
  if (charge.pdb) --allowed_[*charge.pdb];
}

std::string why_never_evictable(const api::PodDisruptionBudget& pdb, std::int64_t terminal) {
  if (pdb.max_unavailable && pdb.max_unavailable->value <= 0) {
    return fmt::format(
        "PodDisruptionBudget {} has maxUnavailable 0 and never allows a disruption: raise it to 1 or more",
        pdb.meta.name);
  }
  if (!pdb.sync_failure.empty()) {
    return fmt::format("PodDisruptionBudget {} cannot be computed and allows no disruption: {}", pdb.meta.name,
                       pdb.sync_failure);
  }
  if (pdb.max_unavailable && pdb.expected_pods <= 0 && pdb.current_healthy > 0) {
    return fmt::format(
        "PodDisruptionBudget {} has maxUnavailable for pods without a controller that has a scale subresource, and "
        "never allows a disruption: use minAvailable with a number",
        pdb.meta.name);
  }
  if (!pdb.min_available) return {};
  const auto& [value, percent] = *pdb.min_available;
  // For a percentage, the disruption controller counts the replicas of the pods' owners, which exclude ended pods.
  const std::int64_t ended = percent ? 0 : std::min<std::int64_t>(terminal, pdb.expected_pods);
  const std::int64_t pods = pdb.expected_pods - ended;
  // Percentages round up, as in the disruption controller.
  const std::int64_t needed = percent ? (value * pods + 99) / 100 : value;
  if (percent && value >= 100) {
    return fmt::format(
        "PodDisruptionBudget {} has minAvailable 100% and never allows a disruption: use maxUnavailable: 1",
        pdb.meta.name);
  }
  if (pdb.expected_pods <= 0 || needed < pods) return {};
  return fmt::format(
      "PodDisruptionBudget {} has minAvailable {}{}, of {} pods{}, and never allows a disruption: use maxUnavailable: "
      "1, or run more replicas",
      pdb.meta.name, value, percent ? "%" : "", pods,
      ended > 0 ? fmt::format(" besides {} that have terminated", ended) : "");
}

}  // namespace scheduling
