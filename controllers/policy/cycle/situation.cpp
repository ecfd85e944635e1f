#include "controllers/policy/cycle/situation.hpp"

#include <algorithm>
#include <utility>

#include "base/time/stored_time.hpp"
#include "controllers/policy/once_run.hpp"
#include "controllers/policy/triggers.hpp"

namespace controllers {
namespace {

/// Poll interval for whether replacements of a round have nodes.
constexpr base::seconds kSettleRetry{10};

}  // namespace

std::optional<base::TimePoint> Situation::changes(const api::DeschedulerPolicyStatus& next) const {
  auto earliest = timing.changes;
  const auto no_later = [&](base::TimePoint time) { earliest = std::min(earliest.value_or(time), time); };
  if (wave.changes) no_later(*wave.changes);
  if (settled.awaits_pods && running(strategy, next)) no_later(now + kSettleRetry);
  return earliest;
}

Situation SituationObserver::observe(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                     GateVerdict gates) const {
  Situation seen;
  seen.now = clock_.now();
  seen.gates = std::move(gates);
  seen.evacuations = caches_.evacuations.by_index(kByPolicy, policy.meta.name);
  seen.wave = wave_progress(policy, seen.evacuations, seen.now);
  seen.strategy = spec.strategy_specs.multi_cycle();
  if (seen.strategy != nullptr) {
    seen.moved = state_of_moves(policy, seen.evacuations, seen.now);
    seen.settled = settlement(policy, seen);
  }
  const bool continues = seen.wave.may_continue || continues_now(seen.strategy, policy, seen.moved, seen.settled);
  seen.timing = timing_with_triggers(policy, continues, seen.now);
  seen.stale = stale_caches();
  return seen;
}

std::vector<std::string> SituationObserver::stale_caches() const {
  return caches_.stale ? caches_.stale() : std::vector<std::string>();
}

/// REQUIRES: situation.strategy is set.
Settlement SituationObserver::settlement(const api::DeschedulerPolicy& policy, const Situation& situation) const {
  const bool one_runs =
      situation.moved == WaveState::kUnderWay || std::ranges::any_of(situation.evacuations, is_unfinished);
  if (one_runs) return {false, false};
  const auto progress = running(situation.strategy, policy.status);
  if (!progress || !progress->planned_at) return {};
  return settlement_of(situation.evacuations, caches_.snapshot().pods,
                       base::clamp_to_now(*progress->planned_at, situation.now), situation.now);
}

CycleTiming SituationObserver::timing_with_triggers(const api::DeschedulerPolicy& policy, bool continues,
                                                    base::TimePoint now) const {
  CycleTiming timing = cycle_timing(policy, now);
  const bool may_start = !policy.spec.suspend && timing.opening == Opening::kOpen;
  if (steering_.once) {  // the schedule restricts when cycles may run; otherwise one is due if none has run yet
    timing.due = may_start && !steering_.once->has_cycled(policy.meta.uid);
    return timing;
  }
  if (continues && may_start) timing.due = true;
  const auto in = steering_.triggers ? steering_.triggers->due_in(policy.meta.name) : std::nullopt;
  if (!in) return timing;
  if (*in > base::Duration::zero()) {
    timing.changes = std::min(timing.changes.value_or(now + *in), now + *in);
  } else if (!may_start) {
    steering_.triggers->take(policy.meta.name);  // not kept for the time when cycles may start again
  } else {
    timing.due = true;
  }
  return timing;
}

}  // namespace controllers
