#pragma once

/// State machine of strategies that work in rounds: level nodes, wait, pack nodes, wait, and repeat while it gains.
/// Decides from the observations of one cycle and the status. Pure functions.

#include <optional>
#include <span>
#include <string_view>

#include "api/policy/rounds.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/strategies/strategy.hpp"

namespace planner {

inline constexpr std::string_view kLeveling = "Leveling";
inline constexpr std::string_view kPacking = "Packing";
inline constexpr std::string_view kStopped = "Stopped";

/// Observations of one cycle.
struct RoundsSeen {
  std::int32_t nodes = 0;  ///< number of nodes in scope
  std::int32_t nodes_in_use = 0;
  double imbalance = 0;  ///< imbalance of the nodes in use, in points of the most uneven resource
  bool is_settled = true;
  bool may_time_out = true;
  base::TimePoint now{};
};

/// Counts the nodes and those in use, which have a pod that does not go with its node. `subject` describes what the
/// leveling half evens out and is consumed; with nullopt the imbalance is 0.
RoundsSeen observe_rounds(const scheduling::ClusterSnapshot& cluster, std::span<const scheduling::NodeIndex> nodes,
                          std::optional<strategies::BalanceSubject> subject);

/// Returns the state of the rounds at the start of a cycle. The rounds wait for pending moves (`waiting`), at most for
/// settle_timeout. A half continues until it plans no moves. A round that moved pods and gained is followed by the next
/// one, up to max_rounds. Stopped rounds restart at 1 when the number of nodes in use has changed by more than a tenth
/// since the stop, more than a tenth of nodes were added, or the imbalance has changed by a quarter and one point.
/// `before` is status.rounds of the same spec and strategy, or nullptr in the first cycle.
api::RoundsStatus next_rounds(const api::RoundsStatus* before, const RoundsSeen& seen,
                              const strategies::RoundRules& rules);

/// Ends the current half, which has nothing to move: returns the other half, the next round, or the stop.
api::RoundsStatus after_half(api::RoundsStatus rounds, const RoundsSeen& seen, const strategies::RoundRules& rules);

/// Returns true if the strategy runs in this cycle.
inline bool runs_in_cycle(const api::RoundsStatus& rounds) { return rounds.phase != kStopped && !rounds.waiting; }

}  // namespace planner
