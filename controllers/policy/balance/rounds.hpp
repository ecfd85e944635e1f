#pragma once

/// Rounds of a strategy (planner/plan/balance/rounds.hpp) in the policy controller: detects when the moves have
/// settled, and sets the status. Pure.

#include <memory>
#include <optional>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "controllers/policy/waves.hpp"
#include "planner/strategies/strategy.hpp"

namespace controllers {

/// Whether the policy's moves are complete.
struct Settlement {
  bool is_settled = true;
  bool awaits_pods = false;  ///< no Evacuation is unfinished, but replacements have no node or do not exist yet
};

/// `evacuations` are those of the policy, all finished. Replacements are pods created since `planned_at` for an
/// owner of a moved pod, except pods with scheduling gates. Owners have some seconds to create them.
Settlement settlement_of(const Evacuations& evacuations, const std::vector<std::shared_ptr<const api::Pod>>& pods,
                         base::TimePoint planned_at, base::TimePoint now);

/// Whether there are rounds that have not stopped.
bool are_running(const std::optional<api::RoundsStatus>& rounds);
/// Whether the next half-round starts now, regardless of the interval, because the moves of the last one have settled.
bool rounds_go_on(const api::DeschedulerPolicy& policy, WaveState wave, const Settlement& settled);

/// Sets RoundsStatus::planned from the remaining moves. REQUIRES: judge_balance() was called.
void count_planned(CycleOutcome& outcome);
/// Sets RoundsStatus::moved and planned_at from the created Evacuations.
void count_made(CycleOutcome& outcome);

/// Sets condition Converged for rounds: False/RoundRunning, or the reason why they stopped. REQUIRES: next_status() and
/// set_converged_condition() have set the condition for this cycle.
void set_rounds_condition(api::DeschedulerPolicyStatus& status, const strategies::RoundRules& rules,
                          std::int64_t generation, base::TimePoint now);

}  // namespace controllers
