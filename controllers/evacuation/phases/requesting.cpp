#include <fmt/format.h>

#include <algorithm>

#include "base/backoff.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"

/// Requesting: makes the call that moves the pod, and handles the answers to calls of every phase.
namespace controllers::evacuation {
namespace {

using evictors::ActionRole;
using evictors::ResponseClass;

/// Whether the delay before repeating the call has not passed yet.
bool must_wait(StatusBuilder& builder) {
  const auto& status = builder.status();
  if (!status.next_action_at || *status.next_action_at <= builder.now()) return false;
  base::TimePoint due = *status.next_action_at;
  if (builder.seen().woken)
    due = std::min(due, status.last_response ? status.last_response->time + kMinimalGap : builder.now());
  if (due <= builder.now()) return false;
  builder.wake_at(due);
  return true;
}

base::seconds call_timeout(const StatusBuilder& builder) {
  const evictors::Evictor* evictor = builder.evictor();
  return evictor ? evictor->call_timeout(builder.context()) : evictors::kCallTimeout;
}

void record_request(StatusBuilder& builder, const evictors::Action& action) {
  if (builder.status().blocked_count > 0 || builder.intent_open()) return;  // repeats an earlier request
  const bool eviction = action.name == evictors::kPostEviction;
  builder.record_event(
      eviction ? EventReason::kEvictionRequested : EventReason::kHandoffRequested,
      fmt::format("{} for pod {}, token {}", action.name, builder.spec().pod_ref.name, builder.status().token));
}

// --- rules

/// T23, unless an answer is outstanding, because its call may have taken effect.
std::optional<Step> end_once_answered(StatusBuilder& builder) {
  if (!builder.must_end()) return std::nullopt;
  if (outcome_open(builder)) return wait_for_outcome(builder);
  builder.resolve_intent(IntentResult::kNoEffect);
  return end_attempt_if_required(builder);
}

/// The blocked clock bounds the phase. Ignores `vanished`, because the request may not be written yet; InProgress
/// checks it.
std::optional<Step> follow_owner_of_request(StatusBuilder& builder) {
  builder.set_deadline_if_none(builder.now() + builder.timeouts().blocked + evictors::kCallTimeout);
  evictors::Observation news = builder.remote();
  news.vanished = false;
  return follow_remote(builder, news);
}

/// T8, T12b: no call is due now; the remote side is at work.
std::optional<Step> go_back_in_progress(StatusBuilder& builder) {
  const evictors::NextMove next = builder.plan().next;
  if (next == evictors::NextMove::kAct || next == evictors::NextMove::kHold) return std::nullopt;
  const bool was_ready = builder.is_true(ConditionType::kReadyToEvict);
  const bool found = builder.intent_open();
  builder.resolve_intent(IntentResult::kObserved);
  if (!was_ready) {
    return enter_in_progress(builder, found ? Reason::kRequestFound : Reason::kAlreadyInProgress,
                             "the request is in effect");
  }
  builder.set_false_condition(ConditionType::kReadyToEvict, Reason::kRevoked);
  builder.record_warning(EventReason::kReadyRevoked, "the pod's owner withdrew ready-to-evict");
  return enter_in_progress(builder, Reason::kRevoked, "ready-to-evict was withdrawn");
}

/// T22: the total timeout includes earlier time in InProgress.
std::optional<Step> time_out_in_all(StatusBuilder& builder) {
  if (!builder.status().in_progress_since || !builder.deadline_expired()) return std::nullopt;
  return time_out(builder, Reason::kProgressTimeout, "the total timeout expired");
}

/// T12: sends no request whose state is unknown. The blocked clock bounds the wait.
Step hold_request(StatusBuilder& builder) {
  builder.start_blocked_clock();
  show_wait(builder, builder.plan());
  builder.wake_at(builder.now() + builder.evictor()->poll_interval(builder.context()));
  return builder.wait();
}

/// T9, T39: the call.
std::optional<Step> make_request(StatusBuilder& builder) {
  if (must_wait(builder)) return builder.wait();
  if (builder.plan().next == evictors::NextMove::kHold) return hold_request(builder);
  const evictors::Action& action = *builder.plan().action;
  if (auto waits = regain_slot(builder, action)) return waits;
  record_request(builder, action);
  return builder.act(action);
}

constexpr std::array<Rule, 9> kRequestingRules = {
    fail_without_evictor,
    end_once_answered,             // T23
    end_refused_attempt,           // T37
    follow_owner_of_request,       // T20
    go_back_in_progress,           // T8, T12b
    give_up_when_blocked,          // T13
    time_out_in_all,               // T22
    return_slot_without_progress,  // T36
    make_request,                  // T9, T39
};

// --- answers

Step end_dry_run(StatusBuilder& builder, std::string message) {
  builder.set_outcome(OutcomeKind::kDryRun);
  return builder.finish(EvacuationPhase::kSucceeded, Reason::kDryRun, std::move(message));
}

/// T10.
Step on_granted(StatusBuilder& builder) {
  builder.clear_blocked();
  if (builder.spec().dry_run) return end_dry_run(builder, "the eviction would be granted now");
  return enter_evicting(builder, OutcomeKind::kEvicted, Reason::kEvictionGranted,
                        "the API server granted the eviction");
}

/// T11: the owner moves the pod in the background.
Step on_accepted(StatusBuilder& builder) {
  builder.clear_blocked();
  if (builder.spec().dry_run) return end_dry_run(builder, "the pod's owner would accept the eviction");
  builder.record_event(EventReason::kEvictionAccepted,
                       "the pod's owner accepted the eviction and moves the pod in the background");
  return enter_in_progress(builder, Reason::kEvictionAccepted, "moved in the background by the pod's owner");
}

/// T11: our object or mark is stored.
Step on_applied(StatusBuilder& builder, const evictors::Action& action) {
  builder.clear_blocked();
  const bool is_request = action.role == ActionRole::kRequest;
  if (is_request && builder.spec().dry_run) return end_dry_run(builder, "the request would be accepted now");
  builder.stop_blocked_clock();  // the owner works now, and a handover may take hours
  if (!is_request) return Step::kSettled;
  return enter_in_progress(builder, Reason::kHandoffRequested, "the pod's owner was asked to hand over");
}

/// Backs off exponentially after a plain refusal, which only a manual change can turn into success (I15).
base::Duration aftermath_delay(const evictors::Classification& verdict, int tries) {
  constexpr base::Backoff kRefused{base::seconds(5), base::seconds(60)};
  if (evictors::is_blocked(verdict.answer))
    return std::max<base::Duration>(evictors::blocked_delay(verdict, tries, 0), base::seconds(1));
  return base::backoff_delay(kRefused, tries);
}

/// Answer to an undo or cleanup call. A failure leads to retries until the phase's deadline.
Step on_aftermath(StatusBuilder& builder, const evictors::Classification& verdict) {
  const bool done = verdict.answer == ResponseClass::kApplied;
  if (builder.phase() == EvacuationPhase::kAborting) {
    const auto& last = builder.status().last_response;
    builder.set_false_condition(ConditionType::kRollbackComplete, Reason::kRollbackRunning,
                                done || !last ? verdict.message : fmt::format("{} {}", last->code, last->message));
  }
  if (done) return Step::kSettled;
  builder.set_blocked_count(builder.status().blocked_count + 1);
  builder.set_next_call_at(builder.now() + aftermath_delay(verdict, builder.status().blocked_count));
  return Step::kSettled;
}

/// T15.
Step on_refused(StatusBuilder& builder, const evictors::Classification& verdict) {
  const bool forbidden = verdict.answer == ResponseClass::kForbidden;
  builder.set_false_condition(ConditionType::kEvictionGranted, Reason::kNotEvictable, verdict.message);
  return leave_attempt(builder, EvacuationPhase::kFailed, forbidden ? Reason::kForbidden : Reason::kNotEvictable,
                       verdict.message);
}

/// Another client changed the pod between our read and our patch: read it again and patch the new version.
Step on_patch_conflict(StatusBuilder& builder) {
  constexpr int kAtOnce = 5;
  builder.start_blocked_clock();
  builder.set_blocked_count(std::min(builder.status().blocked_count + 1, 1000));
  const bool immediately = builder.status().blocked_count <= kAtOnce;
  builder.set_next_call_at(builder.now() + (immediately ? base::seconds(0) : base::seconds(1)));
  builder.look_again();
  return Step::kSettled;
}

Step on_answer(StatusBuilder& builder, const evictors::Action& action, const evictors::Classification& verdict) {
  const bool aftermath = action.role == ActionRole::kUndo || action.role == ActionRole::kCleanUp;
  if (aftermath || api::is_terminal(builder.phase())) return on_aftermath(builder, verdict);
  if (verdict.answer == ResponseClass::kConflict && action.name != evictors::kPostEviction)
    return on_patch_conflict(builder);
  if (is_unclear(verdict.answer)) builder.look_again();
  switch (verdict.answer) {
    case ResponseClass::kGranted: return on_granted(builder);
    case ResponseClass::kApplied: return on_applied(builder, action);
    case ResponseClass::kAcceptedInBackground: return on_accepted(builder);
    case ResponseClass::kNotEvictable:
    case ResponseClass::kForbidden:
    case ResponseClass::kPermanent: return on_refused(builder, verdict);
    case ResponseClass::kConflict:
    case ResponseClass::kGoneMaybe:
    case ResponseClass::kUnknown:
    case ResponseClass::kPdbBlocked:
    case ResponseClass::kMultiPdb:
    case ResponseClass::kPdbBroken:
    case ResponseClass::kThrottled:
    case ResponseClass::kWebhookDown:
    case ResponseClass::kRefusedByWebhook:
    case ResponseClass::kRetryLater:
    case ResponseClass::kNamespaceTerminating:
    case ResponseClass::kAuth: record_blocked(builder, verdict);  // T12, T14
  }
  return Step::kSettled;
}

}  // namespace

Step decide_requesting(StatusBuilder& builder) { return first_answer(kRequestingRules, builder); }

bool outcome_open(const StatusBuilder& builder) {
  return builder.intent_open() && builder.now() < builder.status().intent->time + call_timeout(builder);
}

Step wait_for_outcome(StatusBuilder& builder) {
  builder.wake_at(builder.status().intent->time + call_timeout(builder));
  return builder.wait();
}

void take_answer(StatusBuilder& builder, const evictors::Action& action, const evictors::CallResult& answer,
                 const evictors::Classification& verdict) {
  builder.set_last_response({answer ? answer->status : 0, std::string(to_string(verdict.answer)),
                             verdict.message.empty() ? action.name : verdict.message, builder.now()});
  const bool never_sent = !answer && (answer.error().code == base::ErrorCode::kUnavailable ||
                                      answer.error().code == base::ErrorCode::kTimeout);
  if (never_sent) builder.resolve_intent(IntentResult::kNotSent);
  if (verdict.answer != ResponseClass::kUnknown) builder.resolve_intent(verdict.answer);
  builder.remember(verdict.refs);
  on_answer(builder, action, verdict);
}

}  // namespace controllers::evacuation
