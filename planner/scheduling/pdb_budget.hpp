#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/scheduling/refusal.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// What the PodDisruptionBudgets still allow, spent as the API server would spend it on evictions one after the other.
class PdbBudgets {
 public:
  explicit PdbBudgets(const ClusterSnapshot& cluster);

  /// The budget that would answer 429 (or 500, when several match) to an eviction of the pod now.
  std::optional<Refusal> refusal(PodIndex pod) const;
  /// Takes one disruption from the budget that covers the pod, where an eviction would.
  void spend(PodIndex pod);

 private:
  struct Charge {
    std::optional<Refusal> refusal;
    std::optional<std::uint32_t> pdb;  ///< to take one disruption from: its position in pdbs()
  };
  Charge charge_for(PodIndex pod) const;

  const ClusterSnapshot* cluster_;
  std::vector<std::int32_t> allowed_;
};

/// Why this budget can never let a healthy pod of its go as long as neither it nor the number of pods changes, and what
/// would fix it; empty: it can. `terminal`: pods that it covers and that have ended. Its controller expects them, too,
/// where minAvailable is a number, though they are never healthy again.
std::string why_never(const api::PodDisruptionBudget& pdb, std::int64_t terminal = 0);

}  // namespace scheduling
