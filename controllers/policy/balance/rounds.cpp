#include "controllers/policy/balance/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "planner/plan/balance/rounds.hpp"

namespace controllers {
namespace {

/// Maximum time after a pod is gone until its owner has created the replacement.
constexpr base::seconds kReplacedWithin{10};

std::string summary(const api::RoundsStatus& rounds, const strategies::RoundRules& rules) {
  return fmt::format("{}: round {} of {} at most, {}", rounds.strategy, rounds.round, rules.max_rounds, rounds.phase);
}

std::string running_text(const api::RoundsStatus& rounds, const strategies::RoundRules& rules, std::int32_t active) {
  if (!rounds.waiting) return fmt::format("{}: {} pods should move", summary(rounds, rules), rounds.planned);
  if (active > 0)
    return fmt::format("{}: waits for {} unfinished Evacuations of the policy", summary(rounds, rules), active);
  return summary(rounds, rules) + ": waits until pods of moved workloads have a node";
}

std::string stopped_text(const api::RoundsStatus& rounds, const strategies::RoundRules& rules) {
  const std::string done = fmt::format(
      "{} nodes are in use, {} were freed; it starts again when the number of nodes in use or of all nodes changes by "
      "a tenth, or the imbalance of {:.1f} points changes",
      rounds.nodes_in_use, rounds.nodes_freed, rounds.imbalance);
  const auto text = [&](std::string_view why) {
    return fmt::format("{} stopped in round {}: {}; {}", rounds.strategy, rounds.round, why, done);
  };
  if (rounds.reason == api::Reason::kConverged) return text("no moves remain");
  if (rounds.reason == api::Reason::kMaxRounds) return text("maxRounds is reached");
  if (rounds.reason == api::Reason::kNotSettled)
    return text(fmt::format("its moves have not settled within {}, settleTimeout",
                            base::format_duration(rules.settle_timeout)));
  return text(fmt::format("it moved {} pods and gained less than minGain", rounds.moved));
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

bool are_running(const std::optional<api::RoundsStatus>& rounds) {
  return rounds && rounds->phase != planner::kStopped;
}

bool rounds_go_on(const api::DeschedulerPolicy& policy, WaveState wave, const Settlement& settled) {
  const api::DeschedulerPolicyStatus& status = policy.status;
  if (!are_running(status.rounds) || status.observed_generation != policy.meta.generation) return false;
  return settled.is_settled && (wave == WaveState::kOver || status.rounds->waiting);
}

void count_planned(CycleOutcome& outcome) {
  if (!outcome.rounds || !planner::runs_in_cycle(*outcome.rounds) || !outcome.is_judged) return;
  outcome.rounds->planned = static_cast<std::int32_t>(
      std::ranges::count(outcome.moves, outcome.rounds->strategy, &api::PlannedMove::strategy));
}

void count_made(CycleOutcome& outcome) {
  const std::int32_t created = outcome.summary.created;
  if (!outcome.rounds || !planner::runs_in_cycle(*outcome.rounds) || outcome.rounds->planned == 0 || created == 0)
    return;
  outcome.rounds->moved += std::min(created, outcome.rounds->planned);
  outcome.rounds->planned_at = std::chrono::floor<base::seconds>(outcome.summary.start);
}

void set_rounds_condition(api::DeschedulerPolicyStatus& status, const strategies::RoundRules& rules,
                          std::int64_t generation, base::TimePoint now) {
  if (!status.rounds) return;
  const api::RoundsStatus& rounds = *status.rounds;
  api::Condition condition{
      std::string(to_string(api::ConditionType::kConverged)), api::ConditionStatus::kFalse, "", "", generation, {}};
  if (are_running(status.rounds)) {
    condition.reason = to_string(api::Reason::kRoundRunning);
    condition.message = running_text(rounds, rules, status.active);
  } else {
    const bool others_move = status.active > 0 || (status.last_cycle && status.last_cycle->nominated > 0);
    if (others_move && rounds.reason == api::Reason::kConverged) return;
    if (rounds.reason == api::Reason::kConverged) condition.status = api::ConditionStatus::kTrue;
    condition.reason = rounds.reason;
    condition.message = stopped_text(rounds, rules);
  }
  api::set_condition(status.conditions, std::move(condition), now);
}

}  // namespace controllers
