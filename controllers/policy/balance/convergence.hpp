#pragma once

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// Combines the result of the cycle with the history in status.balance. Removes from the outcome the moves of stopped
/// strategies (planner/plan/balance/convergence.hpp) and the soft taints that they requested. A change of the spec
/// resets the history. `continues`: the cycle continues an earlier plan after one of its waves. REQUIRES: no move was
/// removed before.
void judge_balance(const api::DeschedulerPolicy& policy, CycleOutcome& outcome, bool continues = false);

/// Sets condition Converged for balance strategies: True/Converged if the nodes are balanced as wanted,
/// False/Oscillating or False/NoProgress if a strategy has stopped. The message has resource and deviation. REQUIRES:
/// next_status() has set the condition for this cycle.
void set_converged_condition(api::DeschedulerPolicyStatus& status, std::int64_t generation, base::TimePoint now);

}  // namespace controllers
