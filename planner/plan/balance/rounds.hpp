#pragma once

/// Strategies that work in rounds: level nodes, wait, pack them, wait, and again while that gains. From what one cycle
/// sees and what the status remembers. Pure.

#include <optional>
#include <span>
#include <string_view>

#include "api/policy/rounds.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/strategies/strategy.hpp"

namespace planning {

inline constexpr std::string_view kLeveling = "Leveling";
inline constexpr std::string_view kPacking = "Packing";
inline constexpr std::string_view kStopped = "Stopped";

/// What decides how rounds go on.
struct RoundsSeen {
  std::int32_t nodes = 0;  ///< looked at
  std::int32_t nodes_in_use = 0;
  double imbalance = 0;  ///< of the nodes in use, in points of the most uneven resource
  bool is_settled = true;
  bool may_time_out = true;
  base::TimePoint now{};
};

/// Counts the nodes, and those of them with a pod that does not go with its node. `subject`: what the leveling half
/// evens out; nullopt: nothing, so the imbalance is 0. Moves the subject.
RoundsSeen look_at_rounds(const scheduling::ClusterSnapshot& cluster, std::span<const scheduling::NodeIndex> nodes,
                          std::optional<strategies::BalanceSubject> subject);

/// Where the rounds are at the start of a cycle. What was moved is waited for (`waiting`), for settle_timeout at most.
/// A half goes on until it plans nothing. A round that moved something and gained is followed by the next one, up to
/// max_rounds. Stopped rounds begin again from 1 when the number of nodes in use differs by more than a tenth from that
/// at the stop, as many nodes came, or the imbalance differs by a quarter and one point. `before`: status.rounds of the
/// same spec and strategy; nullptr: the first cycle.
api::RoundsStatus next_rounds(const api::RoundsStatus* before, const RoundsSeen& seen,
                              const strategies::RoundRules& rules);

/// The half that `rounds` is in has nothing to move: the other one, the next round, or the end.
api::RoundsStatus after_half(api::RoundsStatus rounds, const RoundsSeen& seen, const strategies::RoundRules& rules);

/// The strategy is asked in this cycle.
inline bool is_asked(const api::RoundsStatus& rounds) { return rounds.phase != kStopped && !rounds.waiting; }

}  // namespace planning
