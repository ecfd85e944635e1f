#pragma once

/// History of cycles in a policy's status. Pure.

#include "api/descheduler_policy.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// Maximum number of nominations, and of refusals, that one cycle adds.
inline constexpr std::size_t kMaxKeptPerCycle = 100;
/// Maximum length of a message, which bounds the size of the status: 300 decisions take about 100 kB.
inline constexpr std::size_t kMaxKeptMessage = 200;

/// Returns the history with this cycle as the newest, limited to the `keep` newest cycles. A decision that repeats
/// exactly gets the cycle's number added to its row. If the rows exceed the limit, those that differ only in their
/// numbers are merged, with the newest numbers. If they still exceed it, the oldest are dropped and counted in their
/// cycles as left out.
api::PolicyHistory next_history(api::PolicyHistory before, const CycleOutcome& outcome, std::int32_t keep);

}  // namespace controllers
