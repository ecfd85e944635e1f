#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/scheduling/refusal.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Remaining disruptions of the PodDisruptionBudgets, charged as the API server charges consecutive evictions.
class PdbBudgets {
 public:
  explicit PdbBudgets(const ClusterSnapshot& cluster);

  /// Returns the refusal of the budget that would answer 429 to an eviction of the pod now (500 if several budgets
  /// match). Returns nullopt if the eviction is allowed.
  std::optional<Refusal> refusal(PodIndex pod) const { return charge_for(pod).refusal; }
  /// Charges one disruption to the pod's budget if an eviction would do so.
  void spend(PodIndex pod);

 private:
  struct Charge {
    std::optional<Refusal> refusal;
    std::optional<std::uint32_t> pdb;  ///< budget to charge, as a position in pdbs()
  };
  Charge charge_for(PodIndex pod) const;

  const ClusterSnapshot* cluster_;
  std::vector<std::int32_t> allowed_;
};

/// Explains why the budget can never let a healthy pod go while the budget and the number of pods stay unchanged, and
/// how to fix it. Returns an empty string if it can. `terminal` is the number of covered pods that have ended. The
/// disruption controller includes them in expectedPods if minAvailable is a number, although they never become healthy
/// again.
std::string why_never_evictable(const api::PodDisruptionBudget& pdb, std::int64_t terminal = 0);

}  // namespace scheduling
