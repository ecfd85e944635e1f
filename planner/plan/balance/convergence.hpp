#pragma once

/// Does balancing help? From one cycle's figures and what the status remembers (docs/concepts/convergence.md). Pure.

#include <span>
#include <string_view>

#include "api/descheduler_policy.hpp"
#include "api/policy/convergence.hpp"

namespace planning {

inline constexpr std::string_view kImproving = "Improving";
inline constexpr std::string_view kConverged = "Converged";
inline constexpr std::string_view kOscillating = "Oscillating";
inline constexpr std::string_view kNoProgress = "NoProgress";

/// BalanceRow::resource of a strategy that empties nodes in waves: `deviation` is the percentage of nodes in use.
inline constexpr std::string_view kNodesInUse = "nodes";

/// The row is about numbers of pods (strategies::CountReport): exact figures, which change only when pods come or go.
bool is_of_counts(const api::BalanceRow& row);

/// One cycle of one strategy and resource.
struct BalanceCycle {
  const api::BalanceRow& now;                 ///< Plan::balance: before and after as planned
  const api::BalanceRow* previous = nullptr;  ///< status.balance; nullptr: the first since the spec changed
  bool acted = false;                         ///< moves of the cycle before were carried out, some of them at least
  bool reverses = false;                      ///< moves_back(): the plan takes back what the one before did
  bool repeats = false;                       ///< relieves_again(): the plan tries again what the one before did
  bool moves = false;                         ///< of counts: the plan has moves of the strategy, whatever they promise
};

/// `now` with its history. A cycle gains when nodes are more even than before the last moves: by half a point at least,
/// or by half of what the plan promised where that is less (a few moves in a large cluster).
/// A cycle without gain is in vain when it was carried out and the next plan repeats it: what was moved has not
/// relieved the nodes. Where these stay relieved, or the deviation differs by more than was promised, it is the load
/// that changes, which says nothing against moving: a plan of one or two moves in a large cluster is not to be seen in
/// the deviation. A plan that takes moves back counts whatever the load does.
/// `patience` cycles in vain without a gain between them: NoProgress. A plan that takes moves back after one that did
/// not gain: Oscillating. Both last until the imbalance is another one: a quarter, and one point, more or less than
/// when it stopped, which `best` holds from then on; or until the spec changes. Of counts a tenth is enough: they
/// have no noise, and one more uneven workload among a few is to be seen. No moves planned: Converged. Patience 0:
/// never stops.
api::BalanceRow next_balance_row(const BalanceCycle& cycle, const api::ConvergenceSettings& settings);

/// False: the moves of this strategy are not to be made.
bool may_balance(const api::BalanceRow& row);

/// True if at least half of the strategy's moves in `now`, and at least one, go from a node that one of `before` went
/// to back to the node that it came from.
bool moves_back(std::string_view strategy, std::span<const api::PlannedMove> before,
                std::span<const api::PlannedMove> now);

/// True if at least half of the strategy's moves in `now`, and at least one, leave nodes that some of `before` left:
/// what was moved has not relieved them. Of a longer plan as many moves are looked at as there were before, which the
/// status may have cut.
bool relieves_again(std::string_view strategy, std::span<const api::PlannedMove> before,
                    std::span<const api::PlannedMove> now);

/// The same for strategies that even out counts: at least half are of workloads that some of `before` were of, as the
/// namespaces and names of their pods tell (all up to the last dash). Where they leave from does not matter: the nodes
/// of a domain are many.
bool moves_again(std::string_view strategy, std::span<const api::PlannedMove> before,
                 std::span<const api::PlannedMove> now);

}  // namespace planning
