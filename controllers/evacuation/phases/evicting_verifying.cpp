#include <fmt/format.h>

#include <algorithm>

#include "controllers/evacuation/phases/draft.hpp"
#include "evictors/eviction_call.hpp"

/// Evicting and Verifying: the pod is on its way out, and somebody is to take its place.
namespace controllers {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;

/// Creation times have whole seconds, and clocks differ a little.
constexpr base::seconds kCreationSlack{2};
/// In status.refs: when the API server took the pod's deletion, by its own clock.
constexpr std::string_view kDeletedAtRef = "podDeletedAt";

// --- Evicting

std::string stuck_because(const Draft& draft) {
  const auto& finalizers = draft.pod()->meta.finalizers;
  if (!finalizers.empty()) return fmt::format("finalizers hold the pod: {}", fmt::join(finalizers, ", "));
  return fmt::format("the kubelet of node {} does not confirm the deletion; is the node down?",
                     draft.pod()->node_name.value);
}

Step termination_timeout_over(Draft& draft) {
  const std::string why = stuck_because(draft);
  draft.set_condition(ConditionType::kTargetGone, ConditionStatus::kFalse, Reason::kTerminationStuck, why);
  draft.record_warning(EventReason::kTimedOut, why);
  return draft.finish(EvacuationPhase::kFailed, Reason::kTerminationTimeout, why);
}

/// T31: a 201 that nothing followed.
Step granted_without_delete(Draft& draft) {
  auto& status = draft.status();
  status.granted_without_delete += 1;
  status.outcome.reset();
  draft.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kUnknown, Reason::kOutcomeUnknown,
                      "the eviction was granted, but the pod was not deleted");
  if (status.granted_without_delete >= kMaxGrantedWithoutDelete) {
    return draft.finish(EvacuationPhase::kFailed, Reason::kBlockedTimeout,
                        fmt::format("granted {} times, but the pod was never deleted", status.granted_without_delete));
  }
  if (!status.blocked_since) status.blocked_since = draft.now();
  draft.record_warning(EventReason::kEvictionBlocked,
                       "the eviction was granted, but the pod was not deleted; asking again");
  draft.enter(EvacuationPhase::kRequesting, Reason::kGrantedWithoutDelete, "the pod got no deletionTimestamp");
  status.deadline = *status.blocked_since + draft.timeouts().blocked;
  return Step::kAgain;
}

Step wait_for_deletion_timestamp(Draft& draft) {
  const base::TimePoint due = draft.status().phase_entered_at.value_or(draft.now()) + kDeleteVisibleWithin;
  draft.status().deadline = due;
  draft.wake_at_deadline(due);
  return draft.expired(due) ? granted_without_delete(draft) : draft.wait();
}

/// deletionTimestamp is the deletion plus its grace: the one we asked for, else the pod's own.
base::TimePoint deleted_at(const Draft& draft) {
  constexpr std::int64_t kDefaultGrace = 30;
  constexpr std::int64_t kMaxGrace = 7 * 24 * 3600;
  const auto of_pod = draft.pod()->termination_grace_period_seconds;
  const std::int64_t grace = draft.spec().grace_period_seconds.value_or(of_pod.value_or(kDefaultGrace));
  const base::TimePoint end = draft.pod()->meta.deletion_timestamp.value_or(draft.now());
  return end - base::seconds(std::clamp<std::int64_t>(grace, 0, kMaxGrace));
}

void start_termination_clock(Draft& draft) {
  auto& status = draft.status();
  status.outcome->pod_deletion_timestamp = draft.pod()->meta.deletion_timestamp;
  draft.remember({{std::string(kDeletedAtRef), base::format_time(deleted_at(draft))}});
  status.deadline = draft.now() + evictors::termination_timeout(draft.spec(), draft.pod());
  draft.set_condition(ConditionType::kTargetGone, ConditionStatus::kFalse, Reason::kStillPresent);
  draft.set_condition(ConditionType::kProgressing, ConditionStatus::kTrue, Reason::kTerminating);
}

Step tidy_while_departing(Draft& draft) {
  const evictors::Evictor* evictor = draft.evictor();
  if (!evictor || !draft.pod_terminating()) return draft.wait();
  auto action = evictor->departing(draft.context());
  if (!action || next_call_is_early(draft)) return draft.wait();
  return draft.act(std::move(*action));
}

// --- Verifying

/// A replacement is created when the pod is deleted or later. Creation times are the API server's, which may be behind
/// ours by any amount: the earlier of its word and ours counts.
base::TimePoint replacement_since(const Draft& draft) {
  const auto& status = draft.status();
  const bool our_call = status.intent && status.intent->action == evictors::kPostEviction;
  const base::TimePoint start = our_call ? status.intent->time : status.attempt_started_at.value_or(draft.now());
  const base::TimePoint since = start - kCreationSlack;
  return std::min(since, base::parse_time(draft.context().ref(kDeletedAtRef)).value_or(since));
}

bool may_replace(const Draft& draft, const Sibling& sibling, base::TimePoint since) {
  const api::Pod& pod = *sibling.pod;
  return !sibling.claimed && pod.uid() != draft.spec().pod_ref.uid && pod.meta.creation_timestamp >= since &&
         !pod.meta.is_terminating() && !pod.is_terminal();
}

/// A ready one before others, older before younger, then by name.
const api::Pod* find_replacement(const Draft& draft) {
  const base::TimePoint since = replacement_since(draft);
  const auto& known = draft.status().outcome->replacement;
  const api::Pod* best = nullptr;
  const auto rank = [&](const api::Pod& pod) {
    const bool chosen_before = known && known->uid == pod.meta.uid;
    return std::tuple(!pod.is_ready(), !chosen_before, pod.meta.creation_timestamp, pod.meta.name);
  };
  for (const Sibling& sibling : draft.seen().siblings) {
    if (!may_replace(draft, sibling, since)) continue;
    if (!best || rank(*sibling.pod) < rank(*best)) best = sibling.pod.get();
  }
  return best;
}

/// Why no replacement will come; empty: one is expected.
std::string not_expected(const Draft& draft) {
  const auto& owner = draft.status().pod_owner;
  if (draft.status().adapter == kTerminalPod) return "the pod had ended before";
  if (!owner) return "the pod has no controller";
  if (owner->kind == "Job") return "a Job counts its own completions";
  if (!draft.seen().desired_replicas) return {};
  const auto ready =
      std::count_if(draft.seen().siblings.begin(), draft.seen().siblings.end(), [&](const Sibling& each) {
        const bool leaving = each.pod->uid() == draft.spec().pod_ref.uid;  // a cache that lags still shows it
        return !leaving && each.pod->is_ready() && !each.pod->meta.is_terminating() && !each.pod->is_terminal();
      });
  if (ready < *draft.seen().desired_replicas) return {};
  return fmt::format("{} {} has its {} replicas", owner->kind, owner->name, *draft.seen().desired_replicas);
}

void record_replacement(Draft& draft, const api::Pod& pod) {
  auto& slot = draft.status().outcome->replacement;
  const bool known = slot && slot->uid == pod.meta.uid;
  api::EvacuationReplacement next{pod.meta.name, pod.meta.uid, pod.node_name, known ? slot->ready_at : std::nullopt};
  if (pod.is_ready() && !next.ready_at) next.ready_at = draft.now();
  slot = std::move(next);
}

bool post_done(const Draft& draft) {
  const auto* post = api::find_condition(draft.status().conditions, ConditionType::kPostCompleted);
  return !post || post->status == ConditionStatus::kTrue;
}

Step succeed(Draft& draft, std::string message) {
  return draft.finish(EvacuationPhase::kSucceeded, reason_of(draft.status().outcome->kind), std::move(message));
}

Step verify_timeout_over(Draft& draft) {
  draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kFalse, Reason::kReplacementTimeout);
  draft.record_warning(EventReason::kTimedOut, "no replacement became ready in time");
  const std::string message =
      fmt::format("no replacement was ready within {}", base::format_duration(draft.timeouts().verify));
  if (draft.spec().require_replacement)
    return draft.finish(EvacuationPhase::kFailed, Reason::kReplacementTimeout, message);
  return succeed(draft, "the pod left; " + message);
}

/// True once the replacement question is answered with yes or does not arise.
bool replacement_settled(Draft& draft) {
  if (const api::Pod* pod = find_replacement(draft)) {
    if (!pod->node_name.empty()) record_replacement(draft, *pod);  // before that there is nothing to tell
    if (!pod->is_ready()) {
      draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kFalse, Reason::kWaiting, pod->meta.name);
      return false;
    }
    const bool moved = pod->node_name != draft.spec().node_name || draft.spec().node_name.empty();
    draft.set_condition(ConditionType::kReplacementReady, moved ? ConditionStatus::kTrue : ConditionStatus::kFalse,
                        moved ? Reason::kReady : Reason::kSameNode,
                        fmt::format("{} on node {}", pod->meta.name, pod->node_name.value));
    return true;
  }
  const std::string why = not_expected(draft);
  if (why.empty()) {
    draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kFalse, Reason::kWaiting);
    return false;
  }
  draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kTrue, Reason::kNotExpected, why);
  return true;
}

/// The evictor's own word on where the work is; the rest is found by the pod's owner.
bool arrival_settled(Draft& draft, const evictors::Verification& arrival) {
  using State = evictors::Verification::State;
  auto& outcome = *draft.status().outcome;
  if (arrival.kind) outcome.kind = *arrival.kind;
  if (arrival.replacement) outcome.replacement = arrival.replacement;
  draft.remember(arrival.refs);
  switch (arrival.state) {
    case State::kByOwner: return replacement_settled(draft);
    case State::kPending:
      draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kFalse, Reason::kWaiting, arrival.message);
      return false;
    case State::kArrived: {
      const bool migrated = outcome.kind == api::OutcomeKind::kMigrated;
      const auto& node = draft.spec().node_name;
      if (!migrated && outcome.replacement && !node.empty() && outcome.replacement->node == node) {
        draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kFalse, Reason::kSameNode,
                            arrival.message);
        return true;
      }
      draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kTrue,
                          migrated ? Reason::kMigrated : Reason::kReady, arrival.message);
      return true;
    }
    case State::kNotExpected:
      draft.set_condition(ConditionType::kReplacementReady, ConditionStatus::kTrue, Reason::kNotExpected,
                          arrival.message);
      return true;
  }
  return false;
}

std::string success_message(const Draft& draft) {
  const auto& outcome = *draft.status().outcome;
  const auto& replacement = outcome.replacement;
  if (draft.status().adapter == kTerminalPod) return "the terminal pod was removed";
  if (!replacement && outcome.kind == api::OutcomeKind::kMigrated) return "migrated; the source pod has ended";
  if (!replacement) return "the pod left; no replacement is expected";
  if (outcome.kind == api::OutcomeKind::kMigrated) return fmt::format("migrated to node {}", replacement->node.value);
  return fmt::format("replaced by {} on node {}", replacement->name, replacement->node.value);
}

Step act_in_verifying(Draft& draft, evictors::Action action) {
  draft.wake_at_deadline(*draft.status().deadline);
  return next_call_is_early(draft) ? draft.wait() : draft.act(std::move(action));
}

}  // namespace

Step enter_evicting(Draft& draft, api::OutcomeKind kind, Reason why, std::string message) {
  auto& status = draft.status();
  if (!status.outcome) status.outcome = api::EvacuationOutcome{};
  status.outcome->kind = kind;
  clear_blocked(draft);
  const bool ours = kind == api::OutcomeKind::kEvicted;
  if (ours || kind == api::OutcomeKind::kMovedByOwner) {
    draft.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kTrue,
                        ours ? Reason::kGranted : Reason::kOwnerDeleted);
  }
  const bool by_owner = kind == api::OutcomeKind::kMovedByOwner;
  draft.record_event(ours       ? EventReason::kEvictionGranted
                     : by_owner ? EventReason::kMovedByOwner
                                : EventReason::kGoneExternally,
                     message);
  draft.enter(EvacuationPhase::kEvicting, why, std::move(message));
  status.deadline = draft.now() + kDeleteVisibleWithin;
  return Step::kAgain;
}

Step decide_evicting(Draft& draft) {
  auto& status = draft.status();
  refuse_late_cancel(draft);
  if (!draft.pod()) {  // its spec does not even say any more which pod it is about
    return draft.finish(EvacuationPhase::kFailed, Reason::kInvalidSpec, draft.seen().spec_problem);
  }
  if (!status.outcome) status.outcome = api::EvacuationOutcome{};
  if (!draft.pod_terminating() && !status.outcome->pod_deletion_timestamp) return wait_for_deletion_timestamp(draft);
  if (!status.outcome->pod_deletion_timestamp) start_termination_clock(draft);
  if (!status.deadline) status.deadline = draft.now() + evictors::termination_timeout(draft.spec(), draft.pod());
  draft.wake_at_deadline(*status.deadline);
  if (draft.expired(*status.deadline)) return termination_timeout_over(draft);
  return tidy_while_departing(draft);
}

Step decide_verifying(Draft& draft) {
  auto& status = draft.status();
  refuse_late_cancel(draft);
  if (!status.outcome) status.outcome = api::EvacuationOutcome{};
  if (!status.deadline) status.deadline = draft.now() + draft.timeouts().verify;
  const evictors::Evictor* evictor = draft.evictor();
  evictors::Verification arrival = evictor ? evictor->verify(draft.context()) : evictors::Verification{};
  const bool settled = arrival_settled(draft, arrival);
  if (arrival.failed) {
    return draft.finish(EvacuationPhase::kFailed, arrival.failed->complete_reason,
                        fmt::format("the pod left, but {}: {}", arrival.failed->reason, arrival.failed->message));
  }
  const base::TimePoint patience = status.phase_entered_at.value_or(draft.now()) + draft.timeouts().verify;
  status.deadline = std::max(*status.deadline, patience + arrival.extra);
  const bool expired = draft.expired(*status.deadline);
  if (arrival.action && !expired) return act_in_verifying(draft, std::move(*arrival.action));
  if (settled && post_done(draft) && !arrival.unfinished) {
    if (status.outcome->replacement) draft.record_event(EventReason::kReplacementReady, success_message(draft));
    return succeed(draft, success_message(draft));
  }
  if (expired) {
    if (!settled) return verify_timeout_over(draft);
    return succeed(draft, success_message(draft) + "; the post phase was not reported in time");
  }
  draft.wake_at_deadline(*status.deadline);
  return draft.wait();
}

}  // namespace controllers
