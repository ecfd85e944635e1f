#pragma once

/// Decides whether balancing makes progress, from the figures of one cycle and the history in the status
/// (docs/concepts/convergence.md). Pure functions.

#include <span>
#include <string_view>

#include "api/descheduler_policy.hpp"
#include "api/policy/convergence.hpp"

namespace planner {

inline constexpr std::string_view kImproving = "Improving";
inline constexpr std::string_view kConverged = "Converged";
inline constexpr std::string_view kOscillating = "Oscillating";
inline constexpr std::string_view kNoProgress = "NoProgress";

/// BalanceRow::resource of strategies that empty nodes in waves. `deviation` is the percentage of nodes in use.
inline constexpr std::string_view kNodesInUse = "nodes";

/// Returns true if the row is about numbers of pods (strategies::CountReport), which are exact and change only when
/// pods are added or removed.
bool is_of_counts(const api::BalanceRow& row);

/// One cycle of one strategy and resource.
struct BalanceCycle {
  const api::BalanceRow& now;  ///< row of Plan::balance, before and after the planned moves
  /// Row of status.balance; nullptr in the first cycle after a change of the spec.
  const api::BalanceRow* previous = nullptr;
  bool acted = false;     ///< at least some moves of the previous cycle were carried out
  bool reverses = false;  ///< moves_back(): the plan reverts moves of the previous one
  bool repeats = false;   ///< relieves_again(): the plan relieves the same nodes as the previous one
  bool moves = false;     ///< for counts: the plan has moves of the strategy, whatever their planned gain
};

/// Returns `now` with state and history.
///
/// * Gain: nodes are more even than before the last moves, by at least half a point or half of the planned gain,
///   whichever is less (a few moves in a large cluster gain little).
/// * In vain: a cycle without gain whose moves were carried out and whose next plan relieves the same nodes again. If
///   the nodes stay relieved, or the deviation changed by more than was planned, the load has changed and the cycle
///   does not count. A plan that reverts moves counts regardless of the load.
/// * NoProgress: `patience` cycles in vain without a gain in between.
/// * Oscillating: a plan reverts moves after a plan that did not gain.
/// * Converged: no moves are planned.
///
/// NoProgress and Oscillating last until the spec changes or the imbalance differs from `best`, its value at the stop,
/// by a quarter and by one point. For counts a tenth is enough, because they have no noise and one more uneven workload
/// among a few must be noticed. Patience 0 disables both states.
api::BalanceRow next_balance_row(const BalanceCycle& cycle, const api::ConvergenceSettings& settings);

/// Returns false if the strategy must not move pods.
bool may_balance(const api::BalanceRow& row);

/// Returns true if at least half of the strategy's moves in `now`, and at least one, go back from the target node of a
/// move in `before` to its source node.
bool moves_back(std::string_view strategy, std::span<const api::PlannedMove> before,
                std::span<const api::PlannedMove> now);

/// Returns true if at least half of the strategy's moves in `now`, and at least one, leave nodes that moves in `before`
/// left, which means that those moves did not relieve the nodes. If `now` is longer than `before`, which the status may
/// have truncated, only as many moves are considered.
bool relieves_again(std::string_view strategy, std::span<const api::PlannedMove> before,
                    std::span<const api::PlannedMove> now);

/// Variant of relieves_again() for strategies that even out counts. Compares workloads instead of source nodes, because
/// a domain has many nodes. A workload is identified by the namespace and the pod name up to its last dash.
bool moves_again(std::string_view strategy, std::span<const api::PlannedMove> before,
                 std::span<const api::PlannedMove> now);

}  // namespace planner
