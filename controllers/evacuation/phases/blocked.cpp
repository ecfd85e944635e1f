#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "controllers/evacuation/phases/status_builder.hpp"
#include "evictors/classify.hpp"
#include "planner/scheduling/pdb_budget.hpp"

/// Handles answers that mean "not now", and limits how long they may persist (T12, T13).
namespace controllers::evacuation {
namespace {

using evictors::ResponseClass;

/// Adds the PDB's current numbers for the message, where the answer lacks them.
void add_numbers(const StatusBuilder& builder, api::Blocker& blocker) {
  if (blocker.kind != BlockerKind::kPodDisruptionBudget) return;
  for (const auto& pdb : builder.seen().pdbs) {
    const bool guessed = blocker.name.empty() && builder.seen().pdbs.size() == 1;
    if (!guessed && pdb->meta.name != blocker.name) continue;
    blocker.name = pdb->meta.name;
    blocker.disruptions_allowed = pdb->disruptions_allowed;
    if (!blocker.current_healthy) blocker.current_healthy = pdb->current_healthy;
    if (!blocker.desired_healthy) blocker.desired_healthy = pdb->desired_healthy;
  }
  if (!blocker.disruptions_allowed) blocker.disruptions_allowed = 0;
}

/// Coarse reason for Progressing=False and events, equal or close to the response class.
Reason blocked_reason(ResponseClass answer) {
  const auto same = evictors::is_blocked(answer) ? api::parse_reason(to_string(answer)) : std::nullopt;
  return same.value_or(Reason::kOutcomeUnknown);  // of the blocking classes only kUnknown
}

/// How the pod can leave despite its PDB, according to the evictor that knows its operator.
std::string advice_of_evictors(const StatusBuilder& builder) {
  if (!builder.pod()) return {};
  for (const std::string_view name : builder.registry().names()) {
    if (auto advice = builder.registry().find(name)->advice(builder.context_for(name)); !advice.empty()) return advice;
  }
  return {};
}

/// Why waiting for the PDB that refused is futile; empty if it may allow the eviction later. A PDB that protects a
/// primary is correct, so for it returns the way to proceed.
std::string hopeless_budget(const StatusBuilder& builder, const evictors::Classification& verdict) {
  if (verdict.answer != ResponseClass::kPdbBlocked) return {};
  const auto& pdbs = builder.seen().pdbs;
  const auto& ended = builder.seen().ended;
  const std::string name = verdict.blocker ? verdict.blocker->name : std::string();
  for (std::size_t i = 0; i < pdbs.size(); ++i) {
    if (pdbs[i]->meta.name != name && !(name.empty() && pdbs.size() == 1)) continue;
    std::string why = scheduling::why_never_evictable(*pdbs[i], i < ended.size() ? ended[i] : 0);
    const std::string advice = why.empty() ? std::string() : advice_of_evictors(builder);
    return advice.empty() ? why
                          : fmt::format("PodDisruptionBudget {} blocks the eviction: {}", pdbs[i]->meta.name, advice);
  }
  return {};
}

Reason blocked_reason(const StatusBuilder& builder, const evictors::Classification& verdict) {
  return hopeless_budget(builder, verdict).empty() ? blocked_reason(verdict.answer) : Reason::kPDBNeverAllows;
}

void name_blocker(StatusBuilder& builder, const evictors::Classification& verdict) {
  if (!verdict.blocker) return builder.clear_blockers();
  api::Blocker blocker = *verdict.blocker;
  add_numbers(builder, blocker);
  if (const std::string why = hopeless_budget(builder, verdict); !why.empty()) blocker.message = why;
  builder.set_blocker(std::move(blocker));
}

void show_blocked(StatusBuilder& builder, const evictors::Classification& verdict) {
  const Reason why = blocked_reason(builder, verdict);
  const std::string hopeless = hopeless_budget(builder, verdict);
  const std::string& message = hopeless.empty() ? verdict.message : hopeless;
  if (!builder.condition_has_reason(ConditionType::kProgressing, why)) {
    builder.record_warning(EventReason::kEvictionBlocked, fmt::format("{}: {}", to_string(why), message));
  }
  builder.set_false_condition(ConditionType::kProgressing, why, message);
  if (is_unclear(verdict.answer)) {
    builder.show_transition();
  } else {
    builder.show_block(why, message);
  }
  if (verdict.answer == ResponseClass::kPdbBlocked) {
    builder.set_false_condition(ConditionType::kEvictionGranted, Reason::kPDBBlocked, verdict.message);
  } else if (verdict.answer == ResponseClass::kUnknown) {
    builder.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kUnknown, Reason::kOutcomeUnknown,
                          verdict.message);
  }
}

}  // namespace

bool is_unclear(ResponseClass answer) {
  return answer == ResponseClass::kUnknown || answer == ResponseClass::kConflict || answer == ResponseClass::kGoneMaybe;
}

std::string held_up_by(const api::EvacuationStatus& status) {
  if (!status.blocked_by.empty()) return ": " + status.blocked_by.front().message;
  return status.last_response ? ": " + status.last_response->message : std::string();
}

void record_blocked(StatusBuilder& builder, const evictors::Classification& verdict) {
  const auto& status = builder.status();
  const bool same = builder.condition_has_reason(ConditionType::kProgressing, blocked_reason(builder, verdict)) &&
                    status.blocked_count > 0;
  builder.start_blocked_clock();
  if (!same) {
    builder.set_blocked_count(1);
  } else if (verdict.answer != ResponseClass::kThrottled) {
    builder.set_blocked_count(std::min(status.blocked_count + 1, 1000));
  }
  const auto seed = std::hash<std::string>{}(status.token) + static_cast<std::uint64_t>(status.blocked_count);
  const auto delay = evictors::blocked_delay(verdict, status.blocked_count, seed);
  builder.set_next_call_at(builder.now() + std::max<base::Duration>(delay, base::seconds(1)));
  const bool total_counts = status.in_progress_since.has_value();
  if (builder.phase() == EvacuationPhase::kRequesting && !total_counts) {
    builder.set_deadline(*status.blocked_since + builder.timeouts().blocked);
  }
  name_blocker(builder, verdict);
  show_blocked(builder, verdict);
}

std::optional<Step> give_up_when_blocked(StatusBuilder& builder) {
  if (!builder.status().blocked_since) return std::nullopt;
  const base::TimePoint deadline = *builder.status().blocked_since + builder.timeouts().blocked;
  builder.wake_at_deadline(deadline);
  if (!builder.expired(deadline)) return std::nullopt;
  if (outcome_open(builder)) return wait_for_outcome(builder);
  builder.resolve_intent(IntentResult::kNoEffect);
  const std::string by = held_up_by(builder.status());
  const std::string time = base::format_duration(builder.timeouts().blocked);
  builder.record_warning(EventReason::kTimedOut, fmt::format("blocked for {}{}", time, by));
  return retry_or_fail(builder, Reason::kBlockedTimeout, fmt::format("blocked for longer than {}{}", time, by));
}

}  // namespace controllers::evacuation
