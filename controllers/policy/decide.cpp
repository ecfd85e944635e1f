#include "controllers/policy/decide.hpp"
#include "controllers/policy/circuit.hpp"
#include "controllers/policy/condition.hpp"
#include "controllers/policy/history.hpp"
#include "controllers/policy/schedule/schedule.hpp"
#include "controllers/policy/waves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/object_json.hpp"
#include "api/evacuation_parts.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"

namespace controllers {
namespace {

using api::ConditionType;
using api::Reason;

/// Lifetime of a placement hint. Equals the lifetime of its Evacuation, which may wait for PDBs and slots over several
/// attempts, because without the hint the move would be useless. Maximum that the API allows.
constexpr base::seconds kHintLasts{api::bounds::kDaySeconds};
/// Finished Evacuations younger than this are recounted; longer than any lag of the cache.
constexpr base::seconds kCountingLag{30};

api::Condition converged(const api::LastCycle& cycle, std::int32_t active, std::int64_t generation) {
  const auto because = [&](Reason reason, std::string message) {
    return condition(ConditionType::kConverged, reason == Reason::kNothingToMove, reason, std::move(message),
                     generation);
  };
  if (cycle.nominated > 0) return because(Reason::kMovesNominated, fmt::format("{} pods should move", cycle.nominated));
  if (active > 0) return because(Reason::kEvacuationsRunning, fmt::format("{} Evacuations are unfinished", active));
  return because(Reason::kNothingToMove, "no strategy nominated a pod");
}

std::string joined_problems(const std::vector<std::string>& problems, std::int64_t more = 0) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) text += (i ? "; " : "") + problems[i];
  if (problems.size() > kShown) more += static_cast<std::int64_t>(problems.size() - kShown);
  if (more > 0) text += fmt::format("; and {} more", more);
  return text;
}

api::Condition suspended(const api::DeschedulerPolicySpec& spec, const CycleTiming& timing, const GateVerdict& gates,
                         std::int64_t generation) {
  const auto because = [&](Reason reason, std::string message) {
    return condition(ConditionType::kSuspended, true, reason, std::move(message), generation);
  };
  if (spec.suspend)
    return because(Reason::kSuspendedByUser,
                   "spec.suspend is true: no cycles start, and no waiting Evacuation is admitted; running Evacuations "
                   "continue");
  const std::string opens =
      timing.opens ? fmt::format("before {}", base::format_time(*timing.opens)) : "within the next ten years";
  if (timing.opening == Opening::kBlackout)
    return because(Reason::kBlackout,
                   fmt::format("inside one of spec.schedule.blackouts: no cycle starts {}, and no waiting Evacuation "
                               "is admitted during the blackout; running Evacuations continue",
                               opens));
  if (timing.opening != Opening::kOpen)
    return because(
        Reason::kOutsideWindow,
        fmt::format("outside of spec.schedule.windows: no cycle starts {}; existing Evacuations continue", opens));
  if (gates.stops())
    return because(gates.kind == GateVerdict::Kind::kHolds ? Reason::kGateHolds : Reason::kGateUnanswered,
                   gates.text + "; no new pods are evacuated, running Evacuations continue");
  return condition(ConditionType::kSuspended, false, Reason::kActive, "cycles run on schedule", generation);
}

/// Start of the next cycle by status and schedule, ignoring the calendar.
std::optional<base::TimePoint> wanted_start(const Schedule& schedule, const api::DeschedulerPolicyStatus& status,
                                            std::int64_t generation, base::TimePoint now) {
  if (status.observed_generation != generation) return schedule.first(now);
  const auto& promised = status.next_cycle_time;
  if (!status.last_cycle) return promised ? promised : schedule.first(now);
  const base::TimePoint last = status.last_cycle->start;
  const auto next = is_from_the_future(last, now) ? schedule.first(now) : schedule.after(last);
  return promised && next ? std::min(promised, next) : next;
}

CycleTiming timing_of(const api::DeschedulerPolicySpec& spec, const api::DeschedulerPolicyStatus& status,
                      std::int64_t generation, base::TimePoint now) {
  if (spec.suspend) return {};
  const auto schedule = Schedule::read(spec.schedule);
  if (!schedule) return {};
  CycleTiming timing;
  timing.opening = schedule->calendar().at(now);
  timing.changes = schedule->calendar().next_change(now);
  if (timing.opening != Opening::kOpen) timing.opens = schedule->calendar().next_open(now);
  timing.next = wanted_start(*schedule, status, generation, now);
  if (timing.next && *timing.next <= now && timing.opening != Opening::kOpen) timing.next = schedule->first(now);
  timing.due = timing.next && *timing.next <= now;
  return timing;
}

bool names_holds(const api::Json& policy) {
  const api::Json* gates = api::find_at(policy, {"spec", "gates"});
  const api::Json* blackouts = api::find_at(policy, {"spec", "schedule", "blackouts"});
  return (gates && !gates->empty()) || (blackouts && !blackouts->empty());
}

bool limits_decode(const api::Json& policy) {
  const api::Json* spec = api::find_at(policy, {"spec"});
  if (!spec || !spec->is_object()) return false;
  if (!spec->contains("limits")) return true;
  api::Json probe = api::Json::object();
  probe["spec"]["limits"] = (*spec)["limits"];
  return api::decode_descheduler_policy(probe).ok();
}

}  // namespace

base::Result<ObservedPolicy> decode_observed_policy(std::string_view json) {
  const auto parsed = api::parse_object_json(json);
  if (!parsed) return parsed.error().during("decoding a DeschedulerPolicy");
  auto stored = api::decode_stored_descheduler_policy(*parsed);
  if (!stored) return stored.error();
  ObservedPolicy seen{*std::move(stored), nullptr};
  if (seen.spec_problem.empty()) {
    seen.plan_spec = std::make_shared<const planner::PlanSpec>(seen.spec);
  } else {
    seen.limits_are_readable = limits_decode(*parsed);
    seen.holds_are_unknown = names_holds(*parsed);
  }
  return seen;
}

CycleTiming cycle_timing(const api::DeschedulerPolicy& policy, base::TimePoint now) {
  return timing_of(policy.spec, policy.status, policy.meta.generation, now);
}

TallyResult tally(const Evacuations& evacuations, EvictedCount carried, base::TimePoint now) {
  const base::TimePoint settled = std::chrono::floor<base::seconds>(now - kCountingLag);
  const base::TimePoint until = carried.until.value_or(base::TimePoint::min());
  TallyResult result{{}, {carried.counted, carried.until}};
  std::int64_t young = 0;
  std::optional<base::TimePoint> newest_settled;
  for (const auto& evacuation : evacuations) {
    if (is_unfinished(evacuation)) ++result.tally.active;
    const auto finished = evacuation->status.finished_at;
    const bool has_left = evacuation->status.phase == api::EvacuationPhase::kSucceeded && !evacuation->spec.dry_run;
    if (!has_left || !finished || *finished <= until) continue;
    if (*finished > settled) {
      ++young;
      continue;
    }
    ++result.carried.counted;
    newest_settled = std::max(newest_settled.value_or(*finished), *finished);
  }
  // All that finished up to `settled` are visible by now, so the watermark may move to the newest of them.
  if (newest_settled) result.carried.until = newest_settled;
  result.tally.evicted = result.carried.counted + young;
  return result;
}

api::Evacuation evacuation_for(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                               std::size_t made_now) {
  const api::EvacuationTemplate& wanted = policy.spec.evacuation;
  api::Evacuation evacuation;
  evacuation.meta.ns = move.ns;
  evacuation.meta.name = api::evacuation_name(move.pod, {move.uid});
  evacuation.meta.labels =
      api::StringMap{{std::string(api::well_known::kPolicyLabel), api::label_value(policy.meta.name)},
                     {std::string(api::well_known::kNodeLabel), api::label_value(move.from)}};
  if (!move.to.empty()) {
    evacuation.meta.annotations = api::StringMap{{std::string(api::well_known::kPredictedTargetAnnotation), move.to}};
  }
  // The garbage collector deletes, and so cancels, the Evacuations with their policy.
  evacuation.meta.owner_references = {
      {std::string(api::well_known::kApiVersion), "DeschedulerPolicy", policy.meta.name, policy.meta.uid, true}};
  api::EvacuationSpec& spec = evacuation.spec;
  spec.pod_ref = {move.pod, {move.uid}};
  spec.node_name = {move.from};
  spec.reason = move.reason;
  spec.source = {policy.meta.name, move.strategy, "evacuator"};
  spec.evictors = wanted.evictors;
  spec.grace_period_seconds = wanted.grace_period_seconds;
  spec.priority = wanted.priority;
  spec.suspend = policy.spec.mode == api::PolicyMode::kManual;
  spec.timeouts = wanted.timeouts;
  // An Evacuation that waits for approval has no decision TTL.
  if (move.wave > 0 && !spec.suspend && !spec.timeouts.decision_ttl)
    spec.timeouts.decision_ttl = decision_ttl_of_wave(made_now);
  spec.retry = wanted.retry;
  spec.on_timeout = wanted.on_timeout;
  spec.hold_slot_until = wanted.hold_slot_until;
  spec.require_replacement = wanted.require_replacement;
  spec.ttl_after_finished = wanted.ttl_after_finished;
  if (!move.hint.empty()) spec.placement = api::PlacementHint{{move.to}, api::PlacementPolicy::kPreferred, kHintLasts};
  return evacuation;
}

void count_moves(CycleOutcome& outcome) {
  outcome.summary.nominated = static_cast<std::int32_t>(outcome.moves.size());
  outcome.summary.waves = 0;
  for (const api::PlannedMove& move : outcome.moves) outcome.summary.waves = std::max(outcome.summary.waves, move.wave);
}

api::DeschedulerPolicyStatus next_status(const api::DeschedulerPolicy& policy, const TallyResult& counts,
                                         const CycleOutcome* outcome, base::TimePoint now, const GateVerdict& gates) {
  const std::int64_t generation = policy.meta.generation;
  api::DeschedulerPolicyStatus next = policy.status;
  next.active = counts.tally.active;
  next.evicted = counts.tally.evicted;
  next.evicted_counted = counts.carried.counted;
  next.evicted_until = counts.carried.until;
  if (outcome) {
    next.observed_generation = generation;
    next.last_cycle = outcome->summary;
    const std::size_t shown = std::min(outcome->moves.size(), api::kMaxPublishedPlan);
    next.plan.assign(outcome->moves.begin(), outcome->moves.begin() + static_cast<std::ptrdiff_t>(shown));
    next.plan_truncated = shown < outcome->moves.size();
    const std::size_t told = std::min(outcome->refusals.size(), api::kMaxPublishedRefusals);
    next.refusals.assign(outcome->refusals.begin(), outcome->refusals.begin() + static_cast<std::ptrdiff_t>(told));
    next.history = next_history(std::move(next.history), *outcome, policy.spec.explain.cycles);
    const bool is_degraded = !outcome->problems.empty();
    api::set_condition(
        next.conditions,
        condition(ConditionType::kDegraded, is_degraded, is_degraded ? Reason::kCycleProblems : Reason::kAsExpected,
                  is_degraded ? joined_problems(outcome->problems) : "the last cycle had no problems", generation),
        now);
    set_warnings_condition(next, outcome->warnings, outcome->more_warnings, generation, now);
    next.next_cycle_time.reset();  // the previous promise was kept
  }
  const CycleTiming timing = timing_of(policy.spec, next, generation, now);
  if (!timing.due) {  // a due cycle that was postponed stays due
    next.observed_generation = generation;
    next.next_cycle_time.reset();
    if (timing.next) next.next_cycle_time = std::chrono::ceil<base::seconds>(*timing.next);
  }
  api::set_condition(
      next.conditions,
      condition(ConditionType::kReady, true, Reason::kValid, "the policy is valid and in effect", generation), now);
  api::set_condition(next.conditions, suspended(policy.spec, timing, gates, generation), now);
  api::set_condition(next.conditions, circuit_condition(policy, next.circuit), now);
  if (next.last_cycle) api::set_condition(next.conditions, converged(*next.last_cycle, next.active, generation), now);
  return next;
}

void set_audit_condition(api::DeschedulerPolicyStatus& status, const std::string& failing, std::int64_t generation,
                         base::TimePoint now) {
  constexpr ConditionType kType = ConditionType::kAuditLogFailing;
  if (failing.empty() && !api::find_condition(status.conditions, kType)) return;
  api::set_condition(status.conditions,
                     failing.empty() ? condition(kType, false, Reason::kWritten, "the audit log is written", generation)
                                     : condition(kType, true, Reason::kSinkFailing, failing, generation),
                     now);
}

void set_stale_caches_condition(api::DeschedulerPolicyStatus& status, const std::vector<std::string>& stale,
                                std::int64_t generation, base::TimePoint now) {
  constexpr ConditionType kType = ConditionType::kDegraded;
  const api::Condition* known = api::find_condition(status.conditions, kType);
  const bool was_stale = known != nullptr && known->reason == to_string(Reason::kStaleCaches);
  if (stale.empty() && !was_stale) return;
  api::set_condition(status.conditions,
                     stale.empty() ? condition(kType, false, Reason::kAsExpected,
                                               "the caches receive updates from the API server again", generation)
                                   : condition(kType, true, Reason::kStaleCaches,
                                               "no cycle runs: " + joined_problems(stale), generation),
                     now);
}

void set_warnings_condition(api::DeschedulerPolicyStatus& status, const std::vector<std::string>& warnings,
                            std::int64_t more, std::int64_t generation, base::TimePoint now) {
  constexpr ConditionType kType = ConditionType::kWarnings;
  if (warnings.empty() && !api::find_condition(status.conditions, kType)) return;
  api::set_condition(status.conditions,
                     warnings.empty()
                         ? condition(kType, false, Reason::kNone, "the last cycle found no unusable input", generation)
                         : condition(kType, true, Reason::kStrangeInput, joined_problems(warnings, more), generation),
                     now);
}

api::DeschedulerPolicyStatus invalid_status(const api::DeschedulerPolicyStatus& before, std::int64_t generation,
                                            std::string_view problem, base::TimePoint now) {
  api::DeschedulerPolicyStatus next = before;
  next.observed_generation = generation;
  next.next_cycle_time.reset();
  next.plan.clear();
  next.plan_truncated = false;
  next.refusals.clear();
  api::set_condition(
      next.conditions,
      condition(ConditionType::kReady, false, Reason::kInvalidSpec, std::string(problem.substr(0, 32'000)), generation),
      now);
  return next;
}

}  // namespace controllers
