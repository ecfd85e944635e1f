#pragma once

/// State machine of AlternatingUtilization: level nodes, wait, pack nodes, wait, and repeat while it gains. Decides
/// from the observations of one cycle and its own state. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

inline constexpr std::string_view kLeveling = "Leveling";
inline constexpr std::string_view kPacking = "Packing";
inline constexpr std::string_view kStopped = "Stopped";

/// Rules for ending rounds.
struct RoundRules {
  std::int32_t max_rounds = 5;
  /// Minimum gain of a round: number of nodes freed, or points by which the imbalance of the nodes in use fell. nullopt
  /// disables the criterion.
  std::optional<std::int32_t> min_freed{1};
  std::optional<double> min_imbalance_gain{};
  base::Duration settle_timeout = base::minutes(15);
  friend bool operator==(const RoundRules&, const RoundRules&) = default;
};

/// State between two cycles (docs/strategies/alternating-utilization.md).
struct Rounds {
  std::int32_t round = 0;                     ///< starts at 1
  std::string phase;                          ///< Leveling, Packing, or Stopped
  std::string reason;                         ///< for Stopped: Converged, NoProgress, MaxRounds or NotSettled
  bool waiting = false;                       ///< moved pods have not settled yet
  std::int32_t planned = 0;                   ///< moves of the last cycle in this phase; 0 if it found none
  std::int32_t moved = 0;                     ///< moves of this round so far
  std::int32_t nodes = 0;                     ///< nodes in scope when the round began, or when it stopped
  std::int32_t nodes_in_use = 0;              ///< nodes in scope with pods other than DaemonSet and mirror pods
  double imbalance = 0;                       ///< of the nodes in use, in percentage points, at the same time
  std::int32_t nodes_freed = 0;               ///< by all finished rounds
  std::optional<base::TimePoint> planned_at;  ///< start of the last cycle that planned moves
  friend bool operator==(const Rounds&, const Rounds&) = default;
};

/// Reads MultiCycle state. Returns nullopt if it is no JSON object or its phase is unknown.
std::optional<Rounds> read_rounds(std::string_view state);
/// Returns MultiCycle state of the strategy `strategy`.
std::string to_state(const Rounds& rounds, std::string_view strategy);

/// Returns the state of the rounds at the start of a cycle. The rounds wait for pending moves (`waiting`), at most for
/// settle_timeout. A half continues until it plans no moves. A round that moved pods and gained is followed by the next
/// one, up to max_rounds. Stopped rounds restart at 1 when the number of nodes in use has changed by more than a tenth
/// since the stop, more than a tenth of nodes were added, or the imbalance has changed by a quarter and one point.
/// `before` is the state after the last cycle, or nullopt in the first one.
Rounds next_rounds(const std::optional<Rounds>& before, const CycleFacts& seen, const RoundRules& rules);

/// Ends the current half, which has nothing to move: returns the other half, the next round, or the stop.
Rounds after_half(Rounds rounds, const CycleFacts& seen, const RoundRules& rules);

/// Describes the progress. `active`: number of unfinished Evacuations of the policy.
MultiCycle::Report report_of(const Rounds& rounds, const RoundRules& rules, std::string_view strategy,
                             std::int32_t active);

}  // namespace strategies
