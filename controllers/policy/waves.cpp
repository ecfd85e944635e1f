#include "controllers/policy/waves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "api/meta/well_known.hpp"
#include "base/time/stored_time.hpp"
#include "evictors/timeouts.hpp"
#include "planner/strategies/catalog.hpp"

namespace controllers {
namespace {

/// Time after a cycle until the cache shows what it created.
constexpr base::minutes kCacheLag{1};
/// Duration of a move if a workload's pods move one at a time: grace period and start of the replacement.
constexpr base::minutes kTimeOfMove{3};
/// Maximum duration of a wave. The rest of a larger wave is planned anew.
constexpr std::chrono::hours kMaxWave{6};

/// Returns the last cycle if it created something for the current spec, otherwise nullptr.
const api::LastCycle* cycle_that_made(const api::DeschedulerPolicy& policy) {
  const auto& last = policy.status.last_cycle;
  const bool made = last && last->created > 0 && policy.status.observed_generation == policy.meta.generation;
  return made ? &*last : nullptr;
}

/// At most `now`, in case the start was written by a clock that was ahead.
base::TimePoint end_of(const api::LastCycle& cycle, base::TimePoint now) {
  return base::clamp_to_now(cycle.start + cycle.duration, now);
}

/// Maximum time for which the next cycle waits for the Evacuation; nullopt if it does not wait.
std::optional<base::TimePoint> holds_until(const api::Evacuation& evacuation, api::PolicyMode mode) {
  using Phase = api::EvacuationPhase;
  const Phase phase = evacuation.status.phase;
  if (api::is_terminal(phase)) return std::nullopt;
  // Any editor of the Evacuation can suspend it, which must not block the policy.
  const bool is_suspended = evacuation.spec.suspend && api::is_between_attempts(phase);
  if (is_suspended && mode != api::PolicyMode::kManual) return std::nullopt;
  const base::seconds turn = evacuation.spec.timeouts.decision_ttl.value_or(evictors::Timeouts{}.decision_ttl);
  return evacuation.meta.creation_timestamp + std::min<base::seconds>(turn, kMaxWave) + kMaxWaiting;
}

/// Whether all Evacuations created for the published part of the plan are visible.
bool all_seen(const std::vector<api::PlannedMove>& plan, const Evacuations& evacuations) {
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const auto& each : evacuations) known.emplace(each->meta.ns, each->spec.pod_ref.uid.value);
  return std::ranges::all_of(plan, [&](const api::PlannedMove& move) {
    return !is_made_now(move) || known.contains({move.ns, move.uid});
  });
}

/// Whether the cache shows what the last cycle created, or should by now. True for a cycle whose start was written by a
/// clock that was ahead. REQUIRES: there was a cycle.
bool is_shown(const api::DeschedulerPolicy& policy, const Evacuations& evacuations, base::TimePoint now) {
  const api::LastCycle& last = *policy.status.last_cycle;
  return base::is_in_future(last.start, now) || now >= end_of(last, now) + kCacheLag ||
         all_seen(policy.status.plan, evacuations);
}

}  // namespace

bool is_made_now(const api::PlannedMove& move) { return move.wave <= 1; }

base::seconds decision_ttl_of_wave(std::size_t moves) {
  const auto wanted = kTimeOfMove * static_cast<base::seconds::rep>(std::min<std::size_t>(moves, 100'000));
  return std::clamp<base::seconds>(wanted, evictors::Timeouts{}.decision_ttl, kMaxWave);
}

WaveProgress wave_progress(const api::DeschedulerPolicy& policy, const Evacuations& evacuations, base::TimePoint now) {
  const api::LastCycle* last = cycle_that_made(policy);
  const bool is_known = last != nullptr && last->waves > 0;
  std::optional<base::TimePoint> held;
  for (const auto& each : evacuations) {
    if (!is_known && !strategies::plans_in_waves(each->spec.source.strategy)) continue;
    if (const auto until = holds_until(*each, policy.spec.mode); until && *until > now)
      held = std::max(held.value_or(*until), *until);
  }
  if (held) return {WaveState::kUnderWay, false, held};
  if (!is_known) return {};
  if (!is_shown(policy, evacuations, now)) return {WaveState::kUnderWay, false, end_of(*last, now) + kCacheLag};
  base::TimePoint newest = std::max(end_of(*last, now), policy.status.evicted_until.value_or(end_of(*last, now)));
  for (const auto& each : evacuations)
    newest = std::max(newest, base::clamp_to_now(each->status.finished_at.value_or(newest), now));
  return {WaveState::kOver, last->waves > 1 && now - newest <= kMaxPause};
}

bool is_unfinished(const std::shared_ptr<const api::Evacuation>& evacuation) {
  return !api::is_terminal(evacuation->status.phase);
}

WaveState state_of_moves(const api::DeschedulerPolicy& policy, const Evacuations& evacuations, base::TimePoint now) {
  if (cycle_that_made(policy) == nullptr) return WaveState::kNone;
  const bool is_over = std::ranges::none_of(evacuations, is_unfinished) && is_shown(policy, evacuations, now);
  return is_over ? WaveState::kOver : WaveState::kUnderWay;
}

void end_if_not_shrinking(CycleOutcome& outcome, std::int32_t waves) {
  if (outcome.summary.waves < waves) return;
  std::erase_if(outcome.moves, [](const api::PlannedMove& move) { return move.wave > 0; });
  std::erase_if(outcome.taints,
                [](const planner::NodeTaint& taint) { return taint.key == api::well_known::kEmptyingTaint; });
  count_moves(outcome);
  outcome.warnings.push_back(
      fmt::format("the plan does not continue: it has no fewer waves than the previous plan ({}), so the freed "
                  "capacity is used by other pods; the remaining moves wait for the schedule",
                  waves));
}

}  // namespace controllers
