#pragma once

/// MultiCycle strategies in the policy controller: detects when their moves have settled, and sets the status. Pure.

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

/// Returns the progress of the strategy by the policy's status. Returns nullopt without a strategy, without a readable
/// state, and if the strategy is over.
std::optional<strategies::MultiCycle::Progress> running(const strategies::MultiCycle* strategy,
                                                        const api::DeschedulerPolicyStatus& status);
/// Whether the strategy's next cycle starts now, regardless of the interval, because the moves of the last one have
/// settled.
bool continues_now(const strategies::MultiCycle* strategy, const api::DeschedulerPolicy& policy, WaveState wave,
                   const Settlement& settled);

/// Records the remaining moves in the strategy's state. REQUIRES: judge_balance() was called.
void count_planned(const strategies::MultiCycle* strategy, CycleOutcome& outcome);
/// Records the created Evacuations in the strategy's state.
void count_made(const strategies::MultiCycle* strategy, CycleOutcome& outcome);

/// Sets condition Converged by the strategy's report. REQUIRES: next_status() and set_converged_condition() have set
/// the condition for this cycle.
void set_progress_condition(const strategies::MultiCycle& strategy, api::DeschedulerPolicyStatus& status,
                            std::int64_t generation, base::TimePoint now);

}  // namespace controllers
