#include <fmt/format.h>

#include <algorithm>

#include "base/backoff.hpp"
#include "controllers/evacuation/phases/draft.hpp"

/// Leaving an attempt (back-off, abort, the end) and what is left to do for one that ended.
namespace controllers {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;

constexpr base::seconds kDefaultTtl{3600};

bool nothing_remote(const Draft& draft) {
  const evictors::Evictor* evictor = draft.evictor();
  if (!evictor || !draft.pod()) return true;
  return evictor->undo(draft.context()).empty() && evictor->cleanup(draft.context()).empty() &&
         evictor->undone(draft.context()) == evictors::Rollback::kNothingToDo;
}

/// T22: the next evictor begins at once, but not in the same breath as a call that was just refused (I15).
base::Duration delay_of_switch(const Draft& draft) {
  const auto& last = draft.status().last_response;
  const base::TimePoint earliest = last && last->code >= 400 ? last->time + kMinimalGap : draft.now();
  return std::max<base::Duration>(earliest - draft.now(), base::Duration::zero());
}

Step enter_backoff(Draft& draft, const ReasonText& why, std::string message) {
  const auto& spec = draft.spec();
  const auto& status = draft.status();
  base::Duration delay = base::backoff_delay({spec.retry.backoff, spec.retry.backoff_max}, status.attempt);
  const auto chain = draft.chain();
  const auto index = static_cast<std::size_t>(std::max(status.evictor_index, 0));
  const bool switched = status.adapter != kTerminalPod && index < chain.size() && chain[index].name != status.evictor;
  if (switched) delay = delay_of_switch(draft);
  draft.set_condition(ConditionType::kSlotAcquired, ConditionStatus::kFalse, Reason::kReleased);
  draft.enter(EvacuationPhase::kBackoff, why, std::move(message));
  clear_blocked(draft);
  draft.status().next_action_at = draft.now() + delay;
  draft.status().deadline = draft.now() + delay + draft.timeouts().decision_ttl;
  return Step::kAgain;
}

Step go_on_to(Draft& draft, EvacuationPhase next, const ReasonText& why, std::string message) {
  // A cancel that came in time has the last word, whatever else went wrong meanwhile.
  if (next != EvacuationPhase::kCancelled && draft.cancelled()) {
    draft.set_condition(ConditionType::kCancelAccepted, ConditionStatus::kTrue, Reason::kCancelAccepted);
    return draft.finish(EvacuationPhase::kCancelled, draft.cancel_reason(), draft.cancel_message());
  }
  if (next == EvacuationPhase::kBackoff) return enter_backoff(draft, why, std::move(message));
  const bool cancelled = next == EvacuationPhase::kCancelled;
  if (cancelled) draft.set_condition(ConditionType::kCancelAccepted, ConditionStatus::kTrue, Reason::kCancelAccepted);
  return draft.finish(cancelled ? EvacuationPhase::kCancelled : EvacuationPhase::kFailed, why, std::move(message));
}

Reason how_rolled_back(evictors::Rollback rollback) {
  if (rollback == evictors::Rollback::kOthersRemain) return Reason::kOtherRequestersRemain;
  return rollback == evictors::Rollback::kComplete ? Reason::kComplete : Reason::kNothingToDo;
}

/// T26.
Step rolled_back(Draft& draft, Reason how) {
  const api::EvacuationAbort abort = draft.status().abort.value_or(api::EvacuationAbort{});
  draft.set_condition(ConditionType::kRollbackComplete, ConditionStatus::kTrue, how);
  draft.record_event(EventReason::kRollbackCompleted, "nothing of this attempt is left on the pod");
  return go_on_to(draft, abort.next, ReasonText::carried(abort.reason), draft.status().message);
}

/// T27: no second attempt on a pod that is not as it was.
Step not_rolled_back(Draft& draft, Reason how, const std::string& message) {
  const api::EvacuationAbort abort = draft.status().abort.value_or(api::EvacuationAbort{});
  draft.set_condition(ConditionType::kRollbackComplete, ConditionStatus::kFalse, how, message);
  draft.record_warning(EventReason::kRollbackIncomplete, message);
  const bool retry = abort.next == EvacuationPhase::kBackoff;
  return go_on_to(draft, retry ? EvacuationPhase::kFailed : abort.next, ReasonText::carried(abort.reason),
                  draft.status().message);
}

// --- terminal

base::TimePoint clean_up_until(const Draft& draft) {
  return draft.status().finished_at.value_or(draft.now()) + draft.timeouts().abort;
}

/// Our marks on a pod that stayed; given up after a while so that the finalizer never holds the object indefinitely.
std::optional<evictors::Action> last_cleanup(const Draft& draft) {
  const evictors::Evictor* evictor = draft.evictor();
  if (!evictor || !draft.pod() || draft.now() >= clean_up_until(draft)) return std::nullopt;
  auto actions = evictor->cleanup(draft.context());
  return actions.empty() ? std::nullopt : std::optional(std::move(actions.front()));
}

/// Silence, or what the calls that were to take it back were answered.
std::string why_not_undone(const api::EvacuationStatus& status) {
  const auto& last = status.last_response;
  const bool refused = last && last->code >= 400 && last->time >= status.abort->started_at;
  if (!refused) return "the pod's owner did not confirm the abort in time";
  return fmt::format("could not be taken back in time: {} {}", last->code, last->message);
}

}  // namespace

bool next_call_is_early(Draft& draft) {
  const auto& due = draft.status().next_action_at;
  if (!due || *due <= draft.now()) return false;
  draft.wake_at(*due);
  return true;
}

Step leave_attempt(Draft& draft, EvacuationPhase next, Reason why, std::string message) {
  draft.status().abort = api::EvacuationAbort{std::string(to_string(why)), next, draft.now()};
  if (next == EvacuationPhase::kCancelled) {
    draft.record_event(EventReason::kCancelRequested, fmt::format("{}: {}", to_string(why), message));
    draft.set_condition(ConditionType::kCancelAccepted, ConditionStatus::kTrue, Reason::kCancelAccepted);
  }
  if (nothing_remote(draft)) {
    draft.set_condition(ConditionType::kRollbackComplete, ConditionStatus::kTrue, Reason::kNothingToDo);
    return go_on_to(draft, next, why, std::move(message));
  }
  draft.set_condition(ConditionType::kRollbackComplete, ConditionStatus::kFalse, Reason::kRollbackRunning);
  draft.enter(EvacuationPhase::kAborting, why, std::move(message));
  clear_blocked(draft);
  draft.status().deadline = draft.now() + draft.timeouts().abort;
  return Step::kAgain;
}

Step decide_aborting(Draft& draft) {
  auto& status = draft.status();
  if (!status.abort)
    status.abort =
        api::EvacuationAbort{std::string(to_string(Reason::kNotEvictable)), EvacuationPhase::kFailed, draft.now()};
  const evictors::Evictor* evictor = draft.evictor();
  if (!evictor || !draft.pod()) return rolled_back(draft, Reason::kNothingToDo);
  const evictors::Rollback rollback = evictor->undone(draft.context());
  if (rollback == evictors::Rollback::kRemoteMarkRemains) {
    return not_rolled_back(
        draft, Reason::kRemoteMarkRemains,
        "not all of it can be taken back: the pod's owner cannot be told to stop (its mark stays), or "
        "the undo hook did not run to its end");
  }
  const base::TimePoint deadline = status.abort->started_at + draft.timeouts().abort;
  status.deadline = deadline;
  draft.wake_at_deadline(deadline);
  const bool pending = rollback == evictors::Rollback::kPending;
  auto actions = pending ? evictor->undo(draft.context()) : evictor->cleanup(draft.context());
  if (actions.empty() && !pending) {
    draft.resolve_intent("Observed");
    return rolled_back(draft, how_rolled_back(rollback));
  }
  if (draft.expired(deadline)) {
    return not_rolled_back(draft, Reason::kAbortTimeout, why_not_undone(status));
  }
  // An operator that never answered gets a limited time: be there when it is over.
  const base::TimePoint patience = status.abort->started_at + draft.timeouts().acknowledge;
  if (pending && patience > draft.now()) draft.wake_at(patience);
  if (actions.empty() || next_call_is_early(draft)) return draft.wait();
  return draft.act(std::move(actions.front()));
}

Step decide_terminal(Draft& draft) {
  // First the verdict is stored; what comes after it must not happen without it.
  if (!api::is_terminal(draft.seen().evacuation.status.phase)) return draft.wait();
  auto& status = draft.status();
  if (!status.finished_at) status.finished_at = draft.now();
  if (draft.has_finalizer()) {
    if (auto action = last_cleanup(draft)) {
      if (!next_call_is_early(draft)) return draft.act(std::move(*action));
      draft.wake_at(clean_up_until(draft));
      return draft.wait();
    }
    draft.resolve_intent("Superseded");
    draft.out().remove_finalizer = true;
    return draft.wait();
  }
  if (draft.evacuation().meta.is_terminating()) return draft.wait();
  const base::TimePoint due = *status.finished_at + draft.spec().ttl_after_finished.value_or(kDefaultTtl);
  if (due <= draft.now()) {
    draft.out().remove_object = true;
  } else {
    draft.wake_at(due);
  }
  return draft.wait();
}

}  // namespace controllers
