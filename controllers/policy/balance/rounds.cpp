#include "controllers/policy/balance/rounds.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/vocabulary/condition_types.hpp"

namespace controllers {
namespace {

/// Maximum time after a pod is gone until its owner has created the replacement.
constexpr base::seconds kReplacedWithin{10};

/// Returns the state of a strategy that ran in the cycle, or nullptr.
api::StrategyState* state_of_run(const strategies::MultiCycle* strategy, CycleOutcome& outcome) {
  if (strategy == nullptr || !outcome.strategy_state) return nullptr;
  const auto progress = strategy->progress(outcome.strategy_state->value);
  return progress && progress->runs_in_cycle() ? &*outcome.strategy_state : nullptr;
}

}  // namespace

Settlement settlement_of(const Evacuations& evacuations, const std::vector<std::shared_ptr<const api::Pod>>& pods,
                         base::TimePoint planned_at, base::TimePoint now) {
  const base::TimePoint since = std::chrono::floor<base::seconds>(planned_at);
  std::set<std::string_view> owners;
  bool may_come = false;
  for (const auto& each : evacuations) {
    if (each->meta.creation_timestamp < since) continue;
    if (each->status.pod_owner) owners.insert(each->status.pod_owner->uid);
    may_come = may_come || (each->status.finished_at && now < *each->status.finished_at + kReplacedWithin);
  }
  const auto is_replacement = [&](const std::shared_ptr<const api::Pod>& pod) {
    if (pod == nullptr || !pod->node_name.empty() || pod->has_scheduling_gates) return false;
    if (pod->meta.is_terminating() || pod->is_terminal()) return false;
    const api::OwnerReference* owner = pod->meta.controller();
    return owner != nullptr && owners.contains(owner->uid) && pod->meta.creation_timestamp >= since;
  };
  const bool awaits = may_come || std::ranges::any_of(pods, is_replacement);
  return {!awaits, awaits};
}

std::optional<strategies::MultiCycle::Progress> running(const strategies::MultiCycle* strategy,
                                                        const api::DeschedulerPolicyStatus& status) {
  if (strategy == nullptr || !status.strategy_state) return std::nullopt;
  auto progress = strategy->progress(status.strategy_state->value);
  return progress && progress->is_over ? std::nullopt : progress;
}

bool continues_now(const strategies::MultiCycle* strategy, const api::DeschedulerPolicy& policy, WaveState wave,
                   const Settlement& settled) {
  const auto progress = running(strategy, policy.status);
  if (!progress || policy.status.observed_generation != policy.meta.generation) return false;
  return settled.is_settled && (wave == WaveState::kOver || progress->is_waiting);
}

void count_planned(const strategies::MultiCycle* strategy, CycleOutcome& outcome) {
  api::StrategyState* state = state_of_run(strategy, outcome);
  if (state == nullptr || !outcome.is_judged) return;
  const auto own = std::ranges::count(outcome.moves, state->strategy, &api::PlannedMove::strategy);
  state->value = strategy->after_planning(state->value, static_cast<std::int32_t>(own));
}

void count_made(const strategies::MultiCycle* strategy, CycleOutcome& outcome) {
  api::StrategyState* state = state_of_run(strategy, outcome);
  if (state == nullptr || outcome.summary.created == 0 || strategy->progress(state->value)->planned == 0) return;
  state->value = strategy->after_creating(state->value, outcome.summary.created, outcome.summary.start);
}

void set_progress_condition(const strategies::MultiCycle& strategy, api::DeschedulerPolicyStatus& status,
                            std::int64_t generation, base::TimePoint now) {
  if (!status.strategy_state) return;
  auto report = strategy.report(status.strategy_state->value, status.active);
  const bool others_move = status.active > 0 || (status.last_cycle && status.last_cycle->nominated > 0);
  if (!report || (report->is_converged && others_move)) return;
  const auto holds = report->is_converged ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
  api::set_condition(status.conditions,
                     {std::string(to_string(api::ConditionType::kConverged)),
                      holds,
                      std::move(report->reason),
                      std::move(report->message),
                      generation,
                      {}},
                     now);
}

}  // namespace controllers
