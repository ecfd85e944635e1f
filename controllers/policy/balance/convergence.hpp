#pragma once

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// Joins what the cycle planned with what status.balance remembers, and takes the moves of strategies that have stopped
/// (planner/plan/balance/convergence.hpp), and the soft taints that these asked for, out of the outcome. A change of
/// the spec begins anew. REQUIRES: no move was taken out before. `continues`: an earlier plan goes on after one of its
/// waves.
void judge_balance(const api::DeschedulerPolicy& policy, CycleOutcome& outcome, bool continues = false);

/// Condition Converged where balance strategies have a word: True/Converged when nodes are as even as they are to be,
/// False/Oscillating or False/NoProgress when a strategy has stopped; the message tells resource and deviation.
/// REQUIRES: next_status() has written the condition of this cycle.
void set_converged_condition(api::DeschedulerPolicyStatus& status, std::int64_t generation, base::TimePoint now);

}  // namespace controllers
