#pragma once

/// The cycles that a policy's status remembers. Pure.

#include "api/descheduler_policy.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// Nominations and refusals that one cycle adds, at most, each.
inline constexpr std::size_t kMaxKeptPerCycle = 100;
/// Of a message, so that the status stays small: 300 decisions are about 100 kB.
inline constexpr std::size_t kMaxKeptMessage = 200;

/// The history with this cycle as the newest and the `keep` newest cycles in all. A decision that repeats itself, to
/// the numbers, gets the cycle's number added to its row. Where the rows do not suffice, those that differ in their
/// numbers only become one with the newest numbers; where that does not, either, the oldest go and their cycles count
/// them as left out.
api::PolicyHistory next_history(api::PolicyHistory before, const CycleOutcome& outcome, std::int32_t keep);

}  // namespace controllers
