#include "controllers/evacuation/phases/decide.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/backoff.hpp"
#include "controllers/evacuation/phases/draft.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"

namespace controllers {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;
using api::OutcomeKind;
using evictors::ResponseClass;

/// More transitions than this in one go would be a circle: the rest happens at the next call.
constexpr int kMaxStepsAtOnce = 16;

/// Nothing was ever asked of anybody: if the pod leaves, it was not because of us.
bool untouched(const Draft& draft) {
  if (draft.spec().dry_run) return true;
  const bool waiting = draft.phase() == EvacuationPhase::kPending || draft.phase() == EvacuationPhase::kBackoff ||
                       draft.phase() == EvacuationPhase::kPreparing;
  return waiting && !draft.status().request_sent_at;
}

bool our_eviction_took_effect(const Draft& draft) {
  const auto& intent = draft.status().intent;
  if (api::is_true(draft.status().conditions, ConditionType::kEvictionGranted)) return true;
  if (!intent || intent->token != draft.status().token || intent->action != evictors::kPostEviction) return false;
  // Unresolved: the answer was lost, and the pod is leaving now. That was us.
  return !intent->resolved || intent->result == to_string(ResponseClass::kGranted);
}

/// T0b: by whose hand the pod leaves, from the evidence at hand.
OutcomeKind kind_of_departure(const Draft& draft) {
  if (our_eviction_took_effect(draft)) return OutcomeKind::kEvicted;
  const auto& intent = draft.status().intent;
  const bool accepted = intent && intent->result == to_string(ResponseClass::kAcceptedInBackground);
  const bool handed_over = api::is_true(draft.status().conditions, ConditionType::kHandoffAcknowledged);
  return accepted || handed_over ? OutcomeKind::kMovedByOwner : OutcomeKind::kGoneExternally;
}

Step target_gone(Draft& draft) {
  const Reason how = draft.pod_left() ? draft.how_it_left() : Reason::kPodTerminating;
  draft.set_condition(ConditionType::kTargetGone, ConditionStatus::kTrue, how);
  if (draft.phase() == EvacuationPhase::kPending) {
    draft.set_condition(ConditionType::kAccepted, ConditionStatus::kFalse,
                        how == Reason::kUIDChanged ? Reason::kUIDMismatch : Reason::kPodNotFound);
  }
  draft.status().outcome = api::EvacuationOutcome{OutcomeKind::kTargetGone, {}, {}};
  const bool ended = draft.pod() && draft.pod()->is_terminal();
  return draft.finish(
      EvacuationPhase::kCancelled, Reason::kTargetGone,
      ended ? fmt::format("pod {} has ended ({}): nothing of it runs any more", draft.spec().pod_ref.name,
                          api::to_string(draft.pod()->phase))
            : fmt::format("pod {} left before anything was asked ({})", draft.spec().pod_ref.name, to_string(how)));
}

Step enter_verifying(Draft& draft) {
  api::EvacuationStatus& status = draft.status();
  if (!status.outcome) status.outcome = api::EvacuationOutcome{kind_of_departure(draft), {}, {}};
  draft.resolve_intent("Observed");
  refuse_late_cancel(draft);
  draft.set_condition(ConditionType::kTargetGone, ConditionStatus::kTrue, draft.how_it_left());
  draft.set_condition(ConditionType::kProgressing, ConditionStatus::kTrue, Reason::kAwaitingReplacement);
  clear_blocked(draft);
  draft.enter(EvacuationPhase::kVerifying, reason_of(status.outcome->kind), "the pod has left its node");
  status.deadline = draft.now() + draft.timeouts().verify;
  return Step::kAgain;
}

Step step(Draft& draft) {
  if (api::is_terminal(draft.phase())) return decide_terminal(draft);
  if (auto departed = decide_departure(draft)) return *departed;
  switch (draft.phase()) {
    case EvacuationPhase::kPending: return decide_pending(draft);
    case EvacuationPhase::kPreparing: return decide_preparing(draft);
    case EvacuationPhase::kRequesting: return decide_requesting(draft);
    case EvacuationPhase::kInProgress: return decide_in_progress(draft);
    case EvacuationPhase::kEvicting: return decide_evicting(draft);
    case EvacuationPhase::kVerifying: return decide_verifying(draft);
    case EvacuationPhase::kAborting: return decide_aborting(draft);
    case EvacuationPhase::kBackoff: return decide_backoff(draft);
    case EvacuationPhase::kSucceeded:
    case EvacuationPhase::kFailed:
    case EvacuationPhase::kCancelled: break;
  }
  return Step::kSettled;
}

void record_answer(Draft& draft, const evictors::Action& action, const evictors::CallResult& answer,
                   const evictors::Classification& verdict) {
  api::EvacuationStatus& status = draft.status();
  status.last_response = api::LastResponse{answer ? answer->status : 0, std::string(to_string(verdict.answer)),
                                           verdict.message.empty() ? action.name : verdict.message, draft.now()};
  const bool never_sent = !answer && (answer.error().code == base::ErrorCode::kUnavailable ||
                                      answer.error().code == base::ErrorCode::kTimeout);
  if (never_sent) draft.resolve_intent("NotSent");
  if (verdict.answer != ResponseClass::kUnknown) draft.resolve_intent(to_string(verdict.answer));
}

Step on_granted(Draft& draft) {
  clear_blocked(draft);
  if (draft.spec().dry_run) {
    draft.status().outcome = api::EvacuationOutcome{OutcomeKind::kDryRun, {}, {}};
    return draft.finish(EvacuationPhase::kSucceeded, Reason::kDryRun, "the eviction would be granted now");
  }
  return enter_evicting(draft, OutcomeKind::kEvicted, Reason::kEvictionGranted, "the API server granted the eviction");
}

Step on_accepted(Draft& draft) {
  clear_blocked(draft);
  if (draft.spec().dry_run) {
    draft.status().outcome = api::EvacuationOutcome{OutcomeKind::kDryRun, {}, {}};
    return draft.finish(EvacuationPhase::kSucceeded, Reason::kDryRun, "the pod's owner would take the eviction over");
  }
  draft.record_event(EventReason::kEvictionAccepted,
                     "the pod's owner took the eviction over and moves the pod in the background");
  return enter_in_progress(draft, Reason::kEvictionAccepted, "moved in the background by the pod's owner");
}

Step on_applied(Draft& draft, const evictors::Action& action) {
  clear_blocked(draft);
  draft.status().blocked_since.reset();  // the owner's work, not ours, begins: a hand-over may take hours
  if (action.role != evictors::ActionRole::kRequest) return Step::kSettled;
  return enter_in_progress(draft, Reason::kHandoffRequested, "the pod's owner was asked to hand over");
}

/// A plain no is asked about less and less often: only somebody's hand can turn it into a yes (I15).
base::Duration aftermath_delay(const evictors::Classification& verdict, int tries) {
  constexpr base::Backoff kRefused{base::seconds(5), base::seconds(60)};
  if (evictors::is_blocked(verdict.answer))
    return std::max<base::Duration>(evictors::blocked_delay(verdict, tries, 0), base::seconds(1));
  return base::backoff_delay(kRefused, tries);
}

/// A call that takes something back or cleans up: failing it only means trying again until the phase's deadline.
Step on_aftermath(Draft& draft, const evictors::Classification& verdict) {
  const bool done = verdict.answer == ResponseClass::kApplied;
  if (draft.phase() == EvacuationPhase::kAborting) {
    const auto& last = draft.status().last_response;
    draft.set_condition(ConditionType::kRollbackComplete, ConditionStatus::kFalse, Reason::kRollbackRunning,
                        done || !last ? std::string() : fmt::format("{} {}", last->code, last->message));
  }
  if (done) return Step::kSettled;
  const int tries = ++draft.status().blocked_count;
  draft.status().next_action_at = draft.now() + aftermath_delay(verdict, tries);
  return Step::kSettled;
}

Step on_refused(Draft& draft, const evictors::Classification& verdict) {
  const bool forbidden = verdict.answer == ResponseClass::kForbidden;
  draft.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kFalse, Reason::kNotEvictable, verdict.message);
  return leave_attempt(draft, EvacuationPhase::kFailed, forbidden ? Reason::kForbidden : Reason::kNotEvictable,
                       verdict.message);
}

/// Somebody else changed the pod between our read and our patch: read it again and patch that.
Step on_patch_conflict(Draft& draft) {
  constexpr int kAtOnce = 5;
  auto& status = draft.status();
  if (!status.blocked_since) status.blocked_since = draft.now();
  status.blocked_count = std::min(status.blocked_count + 1, 1000);
  status.next_action_at = draft.now() + (status.blocked_count <= kAtOnce ? base::seconds(0) : base::seconds(1));
  draft.out().look_again = true;
  return Step::kSettled;
}

Step on_answer(Draft& draft, const evictors::Action& action, const evictors::Classification& verdict) {
  const bool aftermath = action.role == evictors::ActionRole::kUndo || action.role == evictors::ActionRole::kCleanUp;
  if (aftermath || api::is_terminal(draft.phase())) return on_aftermath(draft, verdict);
  if (verdict.answer == ResponseClass::kConflict && action.name != evictors::kPostEviction)
    return on_patch_conflict(draft);
  switch (verdict.answer) {
    case ResponseClass::kGranted: return on_granted(draft);
    case ResponseClass::kApplied: return on_applied(draft, action);
    case ResponseClass::kAcceptedInBackground: return on_accepted(draft);
    case ResponseClass::kNotEvictable:
    case ResponseClass::kForbidden:
    case ResponseClass::kPermanent: return on_refused(draft, verdict);
    case ResponseClass::kConflict:
    case ResponseClass::kGoneMaybe:
    case ResponseClass::kUnknown: draft.out().look_again = true; [[fallthrough]];
    case ResponseClass::kPdbBlocked:
    case ResponseClass::kMultiPdb:
    case ResponseClass::kPdbBroken:
    case ResponseClass::kThrottled:
    case ResponseClass::kWebhookDown:
    case ResponseClass::kRefusedByWebhook:
    case ResponseClass::kRetryLater:
    case ResponseClass::kNamespaceTerminating:
    case ResponseClass::kAuth: record_blocked(draft, verdict); return Step::kSettled;
  }
  return Step::kSettled;
}

}  // namespace

Reason reason_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kEvicted: return Reason::kEvicted;
    case OutcomeKind::kMigrated: return Reason::kMigrated;
    case OutcomeKind::kMovedByOwner: return Reason::kMovedByOwner;
    case OutcomeKind::kGoneExternally: return Reason::kGoneExternally;
    case OutcomeKind::kTargetGone: return Reason::kTargetGone;
    case OutcomeKind::kDryRun: return Reason::kDryRun;
  }
  return Reason::kGoneExternally;
}

void refuse_late_cancel(Draft& draft) {
  if (!draft.cancelled() || draft.condition_has_reason(ConditionType::kCancelAccepted, Reason::kPointOfNoReturn))
    return;
  draft.set_condition(ConditionType::kCancelAccepted, ConditionStatus::kFalse, Reason::kPointOfNoReturn,
                      "the pod is already leaving");
  draft.record_warning(EventReason::kCancelRefused, "the pod is already leaving; the cancel came too late");
}

std::optional<Step> decide_departure(Draft& draft) {
  const EvacuationPhase phase = draft.phase();
  if (draft.spec().pod_ref.uid.empty()) return std::nullopt;  // not yet looked up: decide_pending does
  if (phase == EvacuationPhase::kVerifying) return std::nullopt;
  if (untouched(draft)) {
    if (draft.cancelled() || !(draft.pod_left() || draft.pod_terminating())) return std::nullopt;
    return target_gone(draft);
  }
  if (draft.pod_left()) return enter_verifying(draft);
  if (phase == EvacuationPhase::kEvicting || !draft.pod_terminating()) return std::nullopt;
  const OutcomeKind kind = kind_of_departure(draft);
  draft.resolve_intent("Observed");
  refuse_late_cancel(draft);
  return enter_evicting(draft, kind, reason_of(kind), "the pod is terminating");
}

std::map<std::string, std::vector<evictors::Read>> wanted_reads(const Observed& seen,
                                                                const evictors::EvictorRegistry& registry,
                                                                base::TimePoint now) {
  const Draft draft(seen, registry, now);
  std::map<std::string, std::vector<evictors::Read>> wanted;
  const EvacuationPhase phase = draft.phase();
  const bool ended = api::is_terminal(phase) && !draft.has_finalizer();
  const bool waits = phase == EvacuationPhase::kPending || phase == EvacuationPhase::kBackoff;
  if (ended || (waits && (seen.slot.state != Slot::State::kGranted || !draft.pod()))) return wanted;
  const auto ask = [&](const evictors::Evictor& evictor) {
    auto reads = evictor.reads(draft.context_for(evictor.name()));
    std::erase_if(reads, [&](const evictors::Read& each) {
      const auto known = seen.documents.find(evictor.name());
      return known != seen.documents.end() && std::any_of(known->second.begin(), known->second.end(),
                                                          [&](const auto& d) { return d.name == each.name; });
    });
    if (!reads.empty()) wanted.emplace(evictor.name(), std::move(reads));
  };
  // The chosen one; before the choice, and where the next one may have to take over, all that could be chosen.
  const evictors::Evictor* chosen = waits ? nullptr : draft.evictor();
  if (chosen) ask(*chosen);
  const bool may_switch = phase == EvacuationPhase::kRequesting || phase == EvacuationPhase::kInProgress;
  if ((chosen && !may_switch) || !draft.pod()) return wanted;
  for (const auto& choice : draft.chain()) {
    const evictors::Evictor* evictor = registry.find(choice.name);
    if (evictor && evictor != chosen) ask(*evictor);
  }
  return wanted;
}

Decision decide(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now) {
  Draft draft(seen, registry, now);
  // A status that another hand has edited: every clock needs a start.
  if (draft.phase() != EvacuationPhase::kPending && !draft.status().phase_entered_at)
    draft.status().phase_entered_at = now;
  for (int i = 0; i < kMaxStepsAtOnce; ++i) {
    if (step(draft) == Step::kSettled) return std::move(draft).finish_decision();
  }
  draft.wake_at(now);
  return std::move(draft).finish_decision();
}

Decision decide_answer(const Observed& seen, const evictors::EvictorRegistry& registry, const evictors::Action& action,
                       const evictors::CallResult& answer, base::TimePoint now) {
  Draft draft(seen, registry, now);
  const evictors::Evictor* evictor = draft.evictor();
  if (!evictor) return std::move(draft).finish_decision();
  const evictors::Classification verdict = evictor->classify(draft.context(), action, answer);
  record_answer(draft, action, answer, verdict);
  draft.remember(verdict.refs);
  on_answer(draft, action, verdict);
  draft.wake_at(now);
  return std::move(draft).finish_decision();
}

}  // namespace controllers
