#include <fmt/format.h>

#include "controllers/evacuation/phases/status_builder.hpp"

/// Aborting: undoes what the attempt started, then continues with status.abort.next.
namespace controllers::evacuation {
namespace {

using evictors::Rollback;

bool nothing_remote(const StatusBuilder& builder) {
  const evictors::Evictor* evictor = builder.evictor();
  if (!evictor || !builder.pod()) return true;
  return evictor->undo(builder.context()).empty() && evictor->cleanup(builder.context()).empty() &&
         evictor->undone(builder.context()) == Rollback::kNothingToDo;
}

Reason rollback_reason(Rollback rollback) {
  if (rollback == Rollback::kOthersRemain) return Reason::kOtherRequestersRemain;
  return rollback == Rollback::kComplete ? Reason::kComplete : Reason::kNothingToDo;
}

Rollback rollback_of(const StatusBuilder& builder) { return builder.evictor()->undone(builder.context()); }

base::TimePoint abort_deadline(const StatusBuilder& builder) {
  return builder.status().abort->started_at + builder.timeouts().abort;
}

/// Remaining calls: first undo, then removal of our marks.
std::vector<evictors::Action> calls_left(const StatusBuilder& builder, Rollback rollback) {
  return rollback == Rollback::kPending ? builder.evictor()->undo(builder.context())
                                        : builder.evictor()->cleanup(builder.context());
}

/// State of the remote side after the attempt.
std::string what_remains(const StatusBuilder& builder) {
  const evictors::Evictor* evictor = builder.evictor();
  return evictor && builder.pod() ? evictor->remains(builder.context()) : std::string();
}

/// T26.
Step rolled_back(StatusBuilder& builder, Reason how) {
  const api::EvacuationAbort abort = builder.status().abort.value_or(api::EvacuationAbort{});
  builder.set_true_condition(ConditionType::kRollbackComplete, how, what_remains(builder));
  builder.record_event(EventReason::kRollbackCompleted, "the attempt is rolled back completely");
  return go_on_to(builder, abort.next, ReasonText::carried(abort.reason), builder.status().message);
}

/// T27: no further attempt on a pod that was not restored.
Step not_rolled_back(StatusBuilder& builder, Reason how, const std::string& message) {
  const api::EvacuationAbort abort = builder.status().abort.value_or(api::EvacuationAbort{});
  builder.set_false_condition(ConditionType::kRollbackComplete, how, message);
  builder.record_warning(EventReason::kRollbackIncomplete, message);
  const bool retry = abort.next == EvacuationPhase::kBackoff;
  return go_on_to(builder, retry ? EvacuationPhase::kFailed : abort.next, ReasonText::carried(abort.reason),
                  builder.status().message);
}

/// Explains the abort timeout: the refusal of an undo call, otherwise what the accepted rollback waits for, if known.
std::string why_not_undone(const StatusBuilder& builder) {
  const api::EvacuationStatus& status = builder.status();
  const auto& last = status.last_response;
  const bool refused = last && last->code >= 400 && last->time >= status.abort->started_at;
  if (refused) return fmt::format("the rollback did not complete in time: {} {}", last->code, last->message);
  const auto* rollback = api::find_condition(status.conditions, ConditionType::kRollbackComplete);
  const std::string waits = rollback && !rollback->message.empty() ? ": " + rollback->message : std::string();
  return "the pod's owner did not confirm the abort in time" + waits;
}

// --- rules

/// T26: no remote side exists to roll back.
std::optional<Step> end_without_remote(StatusBuilder& builder) {
  if (!builder.status().abort) builder.set_abort(Reason::kNotEvictable, EvacuationPhase::kFailed);
  if (builder.evictor() && builder.pod()) return std::nullopt;
  return rolled_back(builder, Reason::kNothingToDo);
}

/// T27: the mark can never be removed.
std::optional<Step> give_up_on_remaining_mark(StatusBuilder& builder) {
  if (rollback_of(builder) != Rollback::kRemoteMarkRemains) return std::nullopt;
  const std::string remains = what_remains(builder);
  return not_rolled_back(
      builder, Reason::kRemoteMarkRemains,
      fmt::format(
          "the rollback is incomplete: {}",
          remains.empty()
              ? "the pod's owner does not support stopping (its mark remains), or the undo hook did not complete"
              : remains));
}

/// Counts timeouts.abort from the beginning of the abort. Never returns a step.
std::optional<Step> keep_abort_deadline(StatusBuilder& builder) {
  builder.set_deadline(abort_deadline(builder));
  builder.wake_at_deadline(abort_deadline(builder));
  return std::nullopt;
}

/// T26: the attempt is undone, and our marks are removed.
std::optional<Step> end_when_undone(StatusBuilder& builder) {
  const Rollback rollback = rollback_of(builder);
  if (rollback == Rollback::kPending || !calls_left(builder, rollback).empty()) return std::nullopt;
  builder.resolve_intent(IntentResult::kObserved);
  return rolled_back(builder, rollback_reason(rollback));
}

/// T27: the rollback was not confirmed in time.
std::optional<Step> give_up_at_abort_deadline(StatusBuilder& builder) {
  if (!builder.expired(abort_deadline(builder))) return std::nullopt;
  return not_rolled_back(builder, Reason::kAbortTimeout, why_not_undone(builder));
}

/// T36: others wait for the slot, and the abort timeout of the spec may be as long as a week.
std::optional<Step> give_up_for_others(StatusBuilder& builder) {
  const base::Duration most = builder.seen().rules.slot_without_progress;
  if (most == base::Duration::zero()) return std::nullopt;
  const base::TimePoint due = builder.status().abort->started_at + most;
  if (due >= abort_deadline(builder)) return std::nullopt;
  builder.wake_at_deadline(due);
  if (!builder.expired(due)) return std::nullopt;
  if (builder.seen().slot_is_waited_for)
    return not_rolled_back(builder, Reason::kAbortTimeout, why_not_undone(builder));
  builder.wake_at(builder.now() + kRefreshWaiting);
  return std::nullopt;
}

std::optional<Step> undo(StatusBuilder& builder) {
  const Rollback rollback = rollback_of(builder);
  // An operator that never answered gets a limited time; wake when it ends.
  const base::TimePoint patience = builder.status().abort->started_at + builder.timeouts().acknowledge;
  if (rollback == Rollback::kPending && patience > builder.now()) builder.wake_at(patience);
  auto actions = calls_left(builder, rollback);
  if (actions.empty() || next_call_is_early(builder)) return builder.wait();
  return builder.act(std::move(actions.front()));
}

constexpr std::array<Rule, 7> kAbortingRules = {
    end_without_remote,         // T26
    give_up_on_remaining_mark,  // T27
    keep_abort_deadline,
    end_when_undone,            // T26
    give_up_at_abort_deadline,  // T27
    give_up_for_others,         // T36
    undo,
};

}  // namespace

Step decide_aborting(StatusBuilder& builder) { return first_answer(kAbortingRules, builder); }

Step go_on_to(StatusBuilder& builder, EvacuationPhase next, const ReasonText& reason, std::string message) {
  // A cancel that came in time prevails over any other failure.
  if (next != EvacuationPhase::kCancelled && builder.cancelled()) {
    builder.set_true_condition(ConditionType::kCancelAccepted, Reason::kCancelAccepted);
    return builder.finish(EvacuationPhase::kCancelled, builder.cancel_reason(), builder.cancel_message());
  }
  if (next == EvacuationPhase::kBackoff) return enter_backoff(builder, reason, std::move(message));
  const bool cancelled = next == EvacuationPhase::kCancelled;
  if (cancelled) builder.set_true_condition(ConditionType::kCancelAccepted, Reason::kCancelAccepted);
  return builder.finish(cancelled ? EvacuationPhase::kCancelled : EvacuationPhase::kFailed, reason, std::move(message));
}

Step leave_attempt(StatusBuilder& builder, EvacuationPhase next, Reason reason, std::string message) {
  builder.set_abort(reason, next);
  if (next == EvacuationPhase::kCancelled) {
    builder.record_event(EventReason::kCancelRequested, fmt::format("{}: {}", to_string(reason), message));
    builder.set_true_condition(ConditionType::kCancelAccepted, Reason::kCancelAccepted);
  }
  if (nothing_remote(builder)) {
    builder.set_true_condition(ConditionType::kRollbackComplete, Reason::kNothingToDo, what_remains(builder));
    return go_on_to(builder, next, reason, std::move(message));
  }
  builder.set_false_condition(ConditionType::kRollbackComplete, Reason::kRollbackRunning);
  builder.enter(EvacuationPhase::kAborting, reason, std::move(message));
  builder.clear_blocked();
  builder.set_deadline(builder.now() + builder.timeouts().abort);
  return Step::kAgain;
}

std::optional<Step> end_attempt_if_required(StatusBuilder& builder) {
  auto ending = builder.must_end();
  if (!ending) return std::nullopt;
  return leave_attempt(builder, ending->phase, ending->reason, std::move(ending->message));
}

std::optional<Step> end_if_required(StatusBuilder& builder) {
  auto ending = builder.must_end();
  if (!ending) return std::nullopt;
  return builder.finish(ending->phase, ending->reason, std::move(ending->message));
}

}  // namespace controllers::evacuation
