#pragma once

/// The rounds of a strategy (planner/plan/balance/rounds.hpp) in a policy's life: when what was moved has settled, and
/// what the status tells of it. Pure.

#include <memory>
#include <optional>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/waves.hpp"
#include "planner/strategies/strategy.hpp"

namespace controllers {

/// Whether what a policy moved is over.
struct Settlement {
  bool is_settled = true;
  bool awaits_pods = false;  ///< no Evacuation is unfinished, but replacements have no node yet, or may not exist yet
};

/// `evacuations`: the policy's, all finished. Replacements are pods that were made since `planned_at` for an owner of
/// the pods that these moved; one with scheduling gates is not waited for. Owners get some seconds to make them.
Settlement settlement_of(const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
                         const std::vector<std::shared_ptr<const api::Pod>>& pods, base::TimePoint planned_at,
                         base::TimePoint now);

/// Neither none nor stopped.
bool are_running(const std::optional<api::RoundsStatus>& rounds);
/// The next half waits for no interval: what the last one moved has settled.
bool rounds_go_on(const api::DeschedulerPolicy& policy, WaveState wave, const Settlement& settled);

/// RoundsStatus::planned by what is left of the plan. REQUIRES: judge_balance() is done.
void count_planned(CycleOutcome& outcome);
/// RoundsStatus::moved and planned_at by what was made of it.
void count_made(CycleOutcome& outcome);

/// Condition Converged where rounds have a word: False/RoundRunning, or why they stopped. REQUIRES: next_status() and
/// set_converged_condition() have written the condition of this cycle.
void set_rounds_condition(api::DeschedulerPolicyStatus& status, const strategies::RoundRules& rules,
                          std::int64_t generation, base::TimePoint now);

}  // namespace controllers
