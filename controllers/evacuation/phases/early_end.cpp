#include <fmt/format.h>

#include "controllers/evacuation/phases/status_builder.hpp"

/// What ends an attempt before its time: a slot is for work that goes on, and one that stands still while others wait
/// for it is given back (T36); and what neither a retry nor another evictor would change, as the pod's end would cost
/// its data, or a service may not be called for its namespace (T37).
namespace controllers::evacuation {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;
using evictors::Rollback;

struct Standstill {
  base::TimePoint since;
  std::string what;  ///< for people
};

/// Somebody says "not now", in a phase in which we are the ones who ask.
std::optional<Standstill> blocked(const StatusBuilder& builder) {
  const auto& since = builder.status().blocked_since;
  if (!since || builder.phase() == EvacuationPhase::kInProgress) return std::nullopt;
  return Standstill{*since, "blocked" + held_up_by(builder.status())};
}

/// A handoff that nobody acknowledges, or that shows no sign of life any more.
std::optional<Standstill> silent_handoff(StatusBuilder& builder) {
  if (!builder.evictor()->probe(builder.context()).acknowledges || builder.remote().ready) return std::nullopt;
  if (!builder.is_true(ConditionType::kHandoffAcknowledged)) {
    if (builder.condition_has_reason(ConditionType::kHandoffAcknowledged, Reason::kAcknowledgeTimeout))
      return std::nullopt;  // it goes on without a handoff
    return Standstill{asked_at(builder), "nobody acknowledged the request"};
  }
  const auto& last = builder.status().last_heartbeat_at;
  return last ? std::optional(Standstill{*last, "no sign of life from the pod's owner"}) : std::nullopt;
}

/// What was asked stands as long as it cannot be taken back, so the slot does, too.
bool may_be_undone(const StatusBuilder& builder) {
  return builder.evictor()->undone(builder.context()) != Rollback::kRemoteMarkRemains;
}

struct Refused {
  Reason reason;
  const std::string& message;
};

std::optional<Refused> refused(const Observed& seen) {
  if (!seen.claim_risk.empty()) return Refused{Reason::kNotEvictable, seen.claim_risk};
  if (!seen.whole_group.empty()) return Refused{Reason::kNotEvictable, seen.whole_group};
  if (!seen.not_allowed.empty()) return Refused{Reason::kNotAllowed, seen.not_allowed};
  return std::nullopt;
}

}  // namespace

std::optional<Step> return_slot_without_progress(StatusBuilder& builder) {
  const base::Duration most = builder.seen().rules.slot_without_progress;
  if (most == base::Duration::zero() || !builder.evictor() || !builder.pod()) return std::nullopt;
  auto standstill = blocked(builder);
  if (!standstill) standstill = silent_handoff(builder);
  if (!standstill) return std::nullopt;
  const base::TimePoint due = standstill->since + most;
  builder.wake_at_deadline(due);
  if (!builder.expired(due) || outcome_open(builder)) return std::nullopt;
  if (!builder.seen().slot_is_waited_for || !may_be_undone(builder)) {
    builder.wake_at(builder.now() + kRefreshWaiting);
    return std::nullopt;
  }
  builder.resolve_intent(IntentResult::kNoEffect);
  return retry_or_fail(builder, Reason::kNoProgress,
                       fmt::format("no progress for {} while others wait for its slot: {}", base::format_duration(most),
                                   standstill->what));
}

std::optional<Step> refuse_request(StatusBuilder& builder) {
  const auto found = refused(builder.seen());
  if (!found) return std::nullopt;
  builder.set_condition(ConditionType::kAccepted, ConditionStatus::kFalse, found->reason, found->message);
  return builder.finish(EvacuationPhase::kFailed, found->reason, found->message);
}

std::optional<Step> end_refused_attempt(StatusBuilder& builder) {
  const auto found = refused(builder.seen());
  if (!found) return std::nullopt;
  if (outcome_open(builder)) return wait_for_outcome(builder);
  builder.resolve_intent(IntentResult::kNoEffect);
  builder.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kFalse, found->reason, found->message);
  return leave_attempt(builder, EvacuationPhase::kFailed, found->reason, found->message);
}

}  // namespace controllers::evacuation
