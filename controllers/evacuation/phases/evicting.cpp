#include <fmt/format.h>

#include "controllers/evacuation/phases/status_builder.hpp"

/// Evicting: the pod is terminating; this cannot be undone.
namespace controllers::evacuation {
namespace {

std::string stuck_because(const StatusBuilder& builder) {
  const auto& finalizers = builder.pod()->meta.finalizers;
  if (!finalizers.empty())
    return fmt::format("finalizers block the deletion of the pod: {}", fmt::join(finalizers, ", "));
  return fmt::format("the kubelet of node {} does not confirm the deletion; is the node down?",
                     builder.pod()->node_name.value);
}

base::TimePoint termination_deadline(const StatusBuilder& builder) {
  return evictors::termination_deadline(builder.spec(), builder.pod(), builder.now());
}

void start_termination_clock(StatusBuilder& builder) {
  const auto& end = builder.pod()->meta.deletion_timestamp;
  builder.set_pod_deletion_timestamp(end);
  // By the API server's clock: the deletionTimestamp minus the grace period.
  const base::TimePoint deleted = end.value_or(builder.now()) - evictors::grace_period(builder.spec(), builder.pod());
  builder.remember({{std::string(kDeletedAtRef), base::format_time(deleted)}});
  builder.set_deadline(termination_deadline(builder));
  builder.set_false_condition(ConditionType::kTargetGone, Reason::kStillPresent);
  builder.set_true_condition(ConditionType::kProgressing, Reason::kTerminating);
}

/// T31: the eviction was granted, but the pod was not deleted.
Step granted_without_delete(StatusBuilder& builder) {
  builder.count_grant_without_delete();
  builder.forget_outcome();
  builder.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kUnknown, Reason::kOutcomeUnknown,
                        "the eviction was granted, but the pod was not deleted");
  const int times = builder.status().granted_without_delete;
  if (times >= kMaxGrantedWithoutDelete) {
    return builder.finish(EvacuationPhase::kFailed, Reason::kBlockedTimeout,
                          fmt::format("granted {} times, but the pod was never deleted", times));
  }
  builder.start_blocked_clock();
  builder.record_warning(EventReason::kEvictionBlocked,
                         "the eviction was granted, but the pod was not deleted; retrying");
  builder.enter(EvacuationPhase::kRequesting, Reason::kGrantedWithoutDelete, "the pod has no deletionTimestamp");
  builder.set_deadline(*builder.status().blocked_since + builder.timeouts().blocked);
  return Step::kAgain;
}

EventReason event_of(OutcomeKind kind) {
  if (kind == OutcomeKind::kEvicted) return EventReason::kEvictionGranted;
  return kind == OutcomeKind::kMovedByOwner ? EventReason::kMovedByOwner : EventReason::kGoneExternally;
}

// --- rules

/// Fails if the spec no longer identifies the pod.
std::optional<Step> fail_without_pod(StatusBuilder& builder) {
  if (builder.pod()) return std::nullopt;
  return builder.finish(EvacuationPhase::kFailed, Reason::kInvalidSpec, builder.seen().spec_problem);
}

/// T31: waits for the grant to show as a deletionTimestamp.
std::optional<Step> wait_for_deletion_timestamp(StatusBuilder& builder) {
  builder.set_outcome_if_none(OutcomeKind::kEvicted);
  if (builder.pod_terminating() || builder.status().outcome->pod_deletion_timestamp) return std::nullopt;
  const base::TimePoint due = builder.status().phase_entered_at.value_or(builder.now()) + kDeleteVisibleWithin;
  builder.set_deadline(due);
  builder.wake_at_deadline(due);
  return builder.expired(due) ? granted_without_delete(builder) : builder.wait();
}

/// Starts the termination timeout when the deletion is visible. Never returns a step.
std::optional<Step> keep_termination_deadline(StatusBuilder& builder) {
  if (!builder.status().outcome->pod_deletion_timestamp) start_termination_clock(builder);
  builder.set_deadline_if_none(termination_deadline(builder));
  builder.wake_at_deadline(*builder.status().deadline);
  return std::nullopt;
}

/// T32: the termination is stuck. Pods are never force-deleted.
std::optional<Step> time_out_termination(StatusBuilder& builder) {
  if (!builder.deadline_expired()) return std::nullopt;
  const std::string why = stuck_because(builder);
  builder.set_false_condition(ConditionType::kTargetGone, Reason::kTerminationStuck, why);
  builder.record_warning(EventReason::kTimedOut, why);
  return builder.finish(EvacuationPhase::kFailed, Reason::kTerminationTimeout, why);
}

std::optional<Step> tidy_while_terminating(StatusBuilder& builder) {
  const evictors::Evictor* evictor = builder.evictor();
  if (!evictor || !builder.pod_terminating()) return std::nullopt;
  auto action = evictor->departing(builder.context());
  if (!action || next_call_is_early(builder)) return std::nullopt;
  return builder.act(std::move(*action));
}

constexpr std::array<Rule, 7> kEvictingRules = {
    refuse_late_cancel,  // T29
    fail_without_pod,
    wait_for_deletion_timestamp,  // T31
    keep_termination_deadline,
    time_out_termination,     // T32
    stop_counting_departure,  // T38
    tidy_while_terminating,
};

}  // namespace

Step decide_evicting(StatusBuilder& builder) { return first_answer(kEvictingRules, builder); }

Step enter_evicting(StatusBuilder& builder, OutcomeKind kind, Reason reason, std::string message) {
  builder.set_outcome_kind(kind);
  builder.clear_blocked();
  const bool ours = kind == OutcomeKind::kEvicted;
  if (ours || kind == OutcomeKind::kMovedByOwner) {
    builder.set_true_condition(ConditionType::kEvictionGranted, ours ? Reason::kGranted : Reason::kOwnerDeleted);
  }
  builder.record_event(event_of(kind), message);
  builder.enter(EvacuationPhase::kEvicting, reason, std::move(message));
  builder.set_deadline(builder.now() + kDeleteVisibleWithin);
  return Step::kAgain;
}

}  // namespace controllers::evacuation
