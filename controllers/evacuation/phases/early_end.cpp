#include <fmt/format.h>

#include <algorithm>

#include "api/origin.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"

/// Ends an attempt early, or stops counting it. A slot is for work that makes progress: an attempt without progress
/// returns it while others wait (T36), or no longer counts if it cannot be interrupted (T38). Also ends what neither a
/// retry nor another evictor can fix: deleting the pod would lose data, or a service must not be called for its
/// namespace (T37).
namespace controllers::evacuation {
namespace {

using evictors::Rollback;

/// A slot held without progress.
struct Standstill {
  base::TimePoint due;        ///< time from which waiting Evacuations get the slot
  std::string what;           ///< human-readable
  bool may_interrupt = true;  ///< false while the owner is at work
};

base::Duration patience(const StatusBuilder& builder) { return builder.seen().rules.slot_without_progress; }

std::string no_progress(const StatusBuilder& builder, std::string_view what) {
  return fmt::format("no progress for {} while other Evacuations wait for the slot: {}",
                     base::format_duration(patience(builder)), what);
}

/// Blocked by a refusal, in a phase in which this operator makes the requests.
std::optional<Standstill> blocked(const StatusBuilder& builder) {
  const auto& since = builder.status().blocked_since;
  if (!since || builder.phase() == EvacuationPhase::kInProgress) return std::nullopt;
  return Standstill{*since + patience(builder), no_progress(builder, "blocked" + held_up_by(builder.status()))};
}

/// No evictor that could move the pod is available.
std::optional<Standstill> without_evictor(const StatusBuilder& builder) {
  if (builder.evictor()) return std::nullopt;
  const base::TimePoint since = builder.status().phase_entered_at.value_or(builder.now());
  return Standstill{since + patience(builder), no_progress(builder, "no evictor is available")};
}

/// A handoff that was not acknowledged or whose heartbeats stopped.
std::optional<Standstill> silent_handoff(StatusBuilder& builder) {
  if (!builder.evictor()->probe(builder.context()).acknowledges || builder.remote().ready) return std::nullopt;
  if (!builder.is_true(ConditionType::kHandoffAcknowledged)) {
    if (builder.condition_has_reason(ConditionType::kHandoffAcknowledged, Reason::kAcknowledgeTimeout))
      return std::nullopt;  // continues without a handoff
    return Standstill{asked_at(builder) + patience(builder), no_progress(builder, "the request was not acknowledged")};
  }
  const auto& last = builder.status().last_heartbeat_at;
  if (!last) return std::nullopt;
  return Standstill{*last + patience(builder), no_progress(builder, "no heartbeat from the pod's owner")};
}

bool may_be_undone(const StatusBuilder& builder) {
  return !builder.evictor() || builder.evictor()->undone(builder.context()) != Rollback::kRemoteMarkRemains;
}

/// The owner moves the pod in the background by a protocol with neither heartbeats nor rollback.
std::optional<Standstill> background_work(StatusBuilder& builder) {
  if (builder.phase() != EvacuationPhase::kInProgress || !builder.remote().alive.empty() || may_be_undone(builder))
    return std::nullopt;
  const auto& status = builder.status();
  const auto since = status.last_heartbeat_at ? status.last_heartbeat_at : status.in_progress_since;
  return Standstill{since.value_or(builder.now()) + patience(builder),
                    no_progress(builder, "the pod's owner moves it in the background and sends no heartbeat"), false};
}

/// Maximum duration of an attempt that counts as progress, whatever its heartbeats. Limits timeouts of manual
/// Evacuations and of pod annotations, which may be a week. The timeouts.total of a policy applies in full.
base::Duration counted_as_progress(const StatusBuilder& builder) {
  const base::Duration most = std::max(builder.seen().rules.max_progress, patience(builder));
  if (!api::origin_is_verified(builder.evacuation())) return most;
  return std::max<base::Duration>(most, builder.spec().timeouts.total.value_or(base::seconds(0)));
}

std::optional<Standstill> takes_too_long(const StatusBuilder& builder) {
  const bool is_working = builder.phase() == EvacuationPhase::kInProgress;
  const bool is_preparing = builder.phase() == EvacuationPhase::kPreparing;
  if (!is_working && (!is_preparing || api::origin_is_verified(builder.evacuation()))) return std::nullopt;
  const auto& status = builder.status();
  const auto since = status.attempt_started_at ? status.attempt_started_at : status.phase_entered_at;
  const base::Duration most = counted_as_progress(builder);
  return Standstill{since.value_or(builder.now()) + most,
                    fmt::format("other Evacuations wait for the slot, and the attempt takes longer than {} "
                                "(limits.maxProgress of the operator's configuration)",
                                base::format_duration(most)),
                    is_preparing};
}

std::optional<Standstill> first_standstill(StatusBuilder& builder) {
  std::optional<Standstill> first = blocked(builder);
  const auto take = [&](std::optional<Standstill> other) {
    if (other && (!first || other->due < first->due)) first = std::move(other);
  };
  take(without_evictor(builder));
  if (builder.evictor()) take(silent_handoff(builder));
  if (builder.evictor()) take(background_work(builder));
  take(takes_too_long(builder));
  return first;
}

/// Whether the owner of an InProgress pod has declared it ready to evict: that is progress, and T17 follows.
bool goes_on_now(StatusBuilder& builder) {
  if (builder.phase() != EvacuationPhase::kInProgress || !builder.evictor()) return false;
  const evictors::EvictionStep& plan = builder.plan();
  return plan.next == evictors::NextMove::kAct && plan.action->role == evictors::ActionRole::kRequest;
}

bool slot_was_returned(const StatusBuilder& builder) {
  return builder.condition_has_reason(ConditionType::kSlotAcquired, Reason::kNoProgress);
}

/// Returns true if the slot goes to others now. Wakes again while no Evacuation waits for it. `is_waited_for`: another
/// Evacuation could begin with the released slot.
bool must_give_slot(StatusBuilder& builder, base::TimePoint due, bool is_waited_for) {
  builder.wake_at_deadline(due);
  if (!builder.expired(due) || outcome_open(builder)) return false;
  if (!is_waited_for) builder.wake_at(builder.now() + kRefreshWaiting);
  return is_waited_for;
}

/// Whether the blocker keeps a slot from the Evacuation, in contrast to a refused call.
bool is_slot_wait(const api::Blocker& blocker) {
  return blocker.kind == BlockerKind::kLimit || blocker.kind == BlockerKind::kAuditLog ||
         blocker.kind == BlockerKind::kPodGroup;
}

/// Ends the blocked clock of a refused call (T13), because the Evacuation waits for a slot now.
void stop_waiting_for_answers(StatusBuilder& builder) {
  if (!builder.status().blocked_since) return;
  builder.stop_blocked_clock();
  if (!builder.status().in_progress_since) builder.set_deadline(std::nullopt);
}

void show_slot_wait(StatusBuilder& builder, const Slot& slot) {
  stop_waiting_for_answers(builder);
  builder.wake_at(slot.retry_at.value_or(builder.now() + kRefreshWaiting));
  if (!slot.limit) return;
  builder.set_blocker(*slot.limit);
  const bool is_at_work = builder.phase() == EvacuationPhase::kInProgress;
  builder.set_condition(ConditionType::kProgressing, is_at_work ? ConditionStatus::kTrue : ConditionStatus::kFalse,
                        Reason::kWaiting, "waits for a slot: " + slot.limit->message);
}

/// T38: the attempt continues but counts for its workload only, until it requests a slot again (T39).
void stop_counting(StatusBuilder& builder, const std::string& why) {
  builder.set_false_condition(ConditionType::kSlotAcquired, Reason::kNoProgress, why);
  builder.record_warning(EventReason::kSlotReturned, why + "; it continues without a slot");
}

struct Refused {
  Reason reason;
  const std::string& message;
};

std::optional<Refused> refused(const Observed& seen) {
  if (!seen.pvc_risk.empty()) return Refused{Reason::kNotEvictable, seen.pvc_risk};
  if (!seen.whole_group.empty()) return Refused{Reason::kNotEvictable, seen.whole_group};
  if (!seen.not_allowed.empty()) return Refused{Reason::kNotAllowed, seen.not_allowed};
  return std::nullopt;
}

}  // namespace

std::optional<Step> return_slot_without_progress(StatusBuilder& builder) {
  if (patience(builder) == base::Duration::zero() || !builder.pod() || slot_was_returned(builder)) return std::nullopt;
  if (goes_on_now(builder)) return std::nullopt;
  const auto standstill = first_standstill(builder);
  if (!standstill) return std::nullopt;
  const bool ends = standstill->may_interrupt && may_be_undone(builder);
  const bool is_waited_for = ends ? builder.seen().slot_is_waited_for : builder.seen().departure_is_waited_for;
  if (!must_give_slot(builder, standstill->due, is_waited_for)) return std::nullopt;
  if (ends) {
    builder.resolve_intent(IntentResult::kNoEffect);
    return retry_or_fail(builder, Reason::kNoProgress, standstill->what);
  }
  stop_counting(builder, standstill->what);
  return std::nullopt;
}

std::optional<Step> regain_slot(StatusBuilder& builder, const evictors::Action& action) {
  if (!slot_was_returned(builder) || action.role != evictors::ActionRole::kRequest) return std::nullopt;
  // The admission queue counts the stored state. An earlier request would reserve a slot for the next attempt.
  if (!goes_on_without_slot(builder.seen().evacuation)) return builder.wait();
  const Slot& slot = builder.seen().slot;
  if (slot.state == Slot::State::kNotAsked) builder.request_slot(false);
  if (slot.state == Slot::State::kWaiting) show_slot_wait(builder, slot);
  if (slot.state != Slot::State::kGranted) return builder.wait();
  stop_waiting_for_slot(builder);
  builder.set_true_condition(ConditionType::kSlotAcquired, Reason::kAcquired);
  builder.record_event(EventReason::kSlotAcquired, "the attempt holds a slot again");
  return std::nullopt;
}

void stop_waiting_for_slot(StatusBuilder& builder) {
  const auto& held = builder.status().blocked_by;
  const bool waited = slot_was_returned(builder) && !held.empty() && is_slot_wait(held.front());
  if (waited) builder.clear_blockers();
}

std::optional<Step> stop_counting_departure(StatusBuilder& builder) {
  if (patience(builder) == base::Duration::zero() || slot_was_returned(builder)) return std::nullopt;
  const base::Duration most = departure_counts_for(builder.seen().rules, builder.spec(), builder.pod());
  const base::TimePoint since = builder.status().phase_entered_at.value_or(builder.now());
  if (must_give_slot(builder, since + most, builder.seen().departure_is_waited_for)) {
    stop_counting(builder, fmt::format("other Evacuations wait for the slot, and the pod has been terminating for {}",
                                       base::format_duration(most)));
  }
  return std::nullopt;
}

base::Duration departure_counts_for(const OperatorRules& rules, const api::EvacuationSpec& spec, const api::Pod* pod) {
  const base::Duration grace = evictors::grace_period(spec, pod);
  return std::max(rules.slot_without_progress, std::min(grace, rules.max_progress));
}

std::optional<Step> refuse_request(StatusBuilder& builder) {
  const auto found = refused(builder.seen());
  if (!found) return std::nullopt;
  builder.set_false_condition(ConditionType::kAccepted, found->reason, found->message);
  return builder.finish(EvacuationPhase::kFailed, found->reason, found->message);
}

std::optional<Step> end_refused_attempt(StatusBuilder& builder) {
  const auto found = refused(builder.seen());
  if (!found) return std::nullopt;
  if (outcome_open(builder)) return wait_for_outcome(builder);
  builder.resolve_intent(IntentResult::kNoEffect);
  builder.set_false_condition(ConditionType::kEvictionGranted, found->reason, found->message);
  return leave_attempt(builder, EvacuationPhase::kFailed, found->reason, found->message);
}

}  // namespace controllers::evacuation
