#include <fmt/format.h>

#include <algorithm>

#include "api/origin.hpp"
#include "api/virtual_machine.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"

/// Pending: stored, waiting for its slot.
namespace controllers::evacuation {
namespace {

Step reject(StatusBuilder& builder, Reason accepted_reason, std::string message) {
  builder.set_false_condition(ConditionType::kAccepted, accepted_reason, message);
  return builder.finish(EvacuationPhase::kFailed, Reason::kInvalidSpec, std::move(message));
}

/// The creator of a manual Evacuation can delete it, but its slot must stay taken until the pod has left. Other
/// Evacuations get the finalizer with the first call that leaves a mark.
bool needs_finalizer(const StatusBuilder& builder) {
  return !builder.has_finalizer() && !api::origin_is_verified(builder.evacuation());
}

Step fill_from_pod(StatusBuilder& builder) {
  const auto& pod = builder.seen().pod;
  if (!pod) {
    builder.set_false_condition(ConditionType::kAccepted, Reason::kPodNotFound);
    builder.set_outcome(OutcomeKind::kTargetGone);
    return builder.finish(EvacuationPhase::kCancelled, Reason::kTargetGone,
                          fmt::format("pod {} does not exist", builder.spec().pod_ref.name));
  }
  builder.fill_spec(SpecFill{pod->uid(), pod->node_name});
  if (needs_finalizer(builder)) builder.add_finalizer();
  return builder.wait();
}

/// Deadline of a suspended Evacuation without its own decision TTL. A proposal of a policy (mode Manual) waits without
/// limit. Any other keeps its pod out of planning and may have been forgotten, so it expires; that includes Evacuations
/// suspended later by an editor.
std::optional<base::TimePoint> suspended_deadline(const StatusBuilder& builder) {
  const base::Duration most = builder.seen().rules.manual_suspended;
  const bool is_proposal = api::origin_is_verified(builder.evacuation()) && builder.seen().policy_suspends;
  if (is_proposal || most == base::Duration::zero()) return std::nullopt;
  return builder.evacuation().meta.creation_timestamp + most;
}

/// Decision TTL of Pending. While suspended only an explicit TTL counts, otherwise it might expire before an approval.
std::optional<base::TimePoint> pending_deadline(const StatusBuilder& builder) {
  const base::TimePoint created = builder.evacuation().meta.creation_timestamp;
  const auto& own = builder.spec().timeouts.decision_ttl;
  if (builder.spec().suspend && !own) return suspended_deadline(builder);
  // Counts from the release of a suspended Evacuation, because its approval renewed the decision.
  const auto& entered = builder.status().phase_entered_at;
  const base::TimePoint start = own || !entered ? created : std::max(created, *entered);
  return start + builder.timeouts().decision_ttl;
}

/// Names the blocker of a PodGroup, which is reported nowhere else.
std::string expired_message(const StatusBuilder& builder) {
  if (builder.spec().suspend && !builder.spec().timeouts.decision_ttl) {
    return fmt::format("not approved within {} (limits.manual.suspended of the operator's configuration)",
                       base::format_duration(builder.seen().rules.manual_suspended));
  }
  const std::string within = base::format_duration(builder.timeouts().decision_ttl);
  const auto& held = builder.status().blocked_by;
  if (held.empty() || held.front().kind != BlockerKind::kPodGroup) return "got no slot within " + within;
  return fmt::format("its PodGroup could not leave within {}: {}", within, held.front().message);
}

/// Handles the release of a suspended Evacuation: removes the blocker and restarts the decision TTL.
void take_release(StatusBuilder& builder) {
  const auto& held = builder.status().blocked_by;
  const bool was_suspended = !held.empty() && held.front().kind == BlockerKind::kSuspended;
  if (builder.spec().suspend || !was_suspended) return;
  builder.clear_blockers();
  builder.restart_phase_clock();
}

/// Reasons by api::LimitScope, in its order.
constexpr std::array kWaitingReasons = {Reason::kWaitingTotal,     Reason::kWaitingNode,     Reason::kWaitingTargetNode,
                                        Reason::kWaitingNamespace, Reason::kWaitingWorkload, Reason::kWaitingZone,
                                        Reason::kWaitingRate,      Reason::kCoolingDown};
static_assert(kWaitingReasons.size() == static_cast<std::size_t>(api::kLastLimitScope) + 1);

Reason waiting_reason(const api::Blocker& blocker) {
  if (blocker.kind == BlockerKind::kAuditLog) return Reason::kWaitingAuditLog;
  if (blocker.kind == BlockerKind::kCapacity) return Reason::kWaitingCapacity;
  if (blocker.kind == BlockerKind::kPodGroup) return Reason::kWaitingForGroup;
  const auto scope = api::scope_of_limit(blocker.name).value_or(api::LimitScope::kTotal);
  return kWaitingReasons.at(static_cast<std::size_t>(scope));
}

Step wait_for_slot(StatusBuilder& builder, const Slot& slot) {
  builder.wake_at(slot.retry_at.value_or(builder.now() + kRefreshWaiting));
  if (!slot.limit && slot.retry_at) return builder.wait();
  const std::string total(to_string(api::LimitScope::kTotal));
  const api::Blocker limit = slot.limit.value_or(make_blocker(BlockerKind::kLimit, total, ""));
  builder.set_false_condition(ConditionType::kSlotAcquired, waiting_reason(limit));
  builder.set_blocker(limit);
  return builder.wait();
}

bool needs_capacity(const StatusBuilder& builder) {
  if (!builder.pod() || builder.spec().dry_run || builder.removes_terminal_pod()) return false;
  const evictors::Evictor* evictor = likely_evictor(builder);
  return evictor && evictor->needs_capacity(builder.context_for(evictor->name()));
}

// --- rules

/// T2: a cancel, or the deletion of the object.
std::optional<Step> end_if_cancelled(StatusBuilder& builder) {
  if (!builder.cancelled()) return std::nullopt;
  return builder.finish(EvacuationPhase::kCancelled, builder.cancel_reason(), builder.cancel_message());
}

/// T1: the spec is invalid.
std::optional<Step> reject_invalid_spec(StatusBuilder& builder) {
  if (builder.seen().spec_problem.empty()) return std::nullopt;
  return reject(builder, Reason::kInvalidSpec, builder.seen().spec_problem);
}

/// T1: limits the priority of manual Evacuations, so that a client with rights in one namespace cannot overtake all
/// others. Until the signature is checked, the priority is only reduced (effective_priority).
std::optional<Step> refuse_priority(StatusBuilder& builder) {
  const auto* origin = api::find_condition(builder.status().conditions, ConditionType::kOriginVerified);
  const std::int32_t most = builder.seen().rules.manual_priority;
  if (!origin || origin->status != ConditionStatus::kFalse || builder.spec().priority <= most) return std::nullopt;
  std::string message = fmt::format(
      "spec.priority is {}, and the maximum of a manual Evacuation is {} (limits.manual.priority of the operator's "
      "configuration)",
      builder.spec().priority, most);
  builder.set_false_condition(ConditionType::kAccepted, Reason::kNotAllowed, message);
  return builder.finish(EvacuationPhase::kFailed, Reason::kNotAllowed, std::move(message));
}

/// T1: fills in the pod's UID, which a manual Evacuation may omit. Ends it if no pod has that name.
std::optional<Step> fill_in_uid(StatusBuilder& builder) {
  if (!builder.spec().pod_ref.uid.empty()) return std::nullopt;
  return fill_from_pod(builder);
}

/// T1: static and DaemonSet pods would return to the same node, and hotplug disks follow their VM.
std::optional<Step> reject_immovable_pod(StatusBuilder& builder) {
  if (builder.pod()->is_mirror()) {
    return reject(builder, Reason::kExcludedByPolicy, "a static pod cannot be moved: its kubelet restarts it");
  }
  if (api::is_hotplug_pod(*builder.pod())) {
    return reject(
        builder, Reason::kExcludedByPolicy,
        "the pod attaches disks to a virtual machine and moves with it: evacuate the machine's virt-launcher pod");
  }
  if (!builder.pod()->is_daemon_set()) return std::nullopt;
  return reject(builder, Reason::kExcludedByPolicy,
                "a DaemonSet's pod cannot be moved: it would come back to the same node");
}

/// T1: the pod runs on another node.
std::optional<Step> reject_other_node(StatusBuilder& builder) {
  const auto& wanted = builder.spec().node_name;
  const auto& node = builder.pod()->node_name;
  if (wanted.empty() || wanted == node) return std::nullopt;
  return reject(builder, Reason::kInvalidSpec,
                fmt::format("spec.nodeName: the pod is on node {}, not on {}", node.empty() ? "(none)" : node.value,
                            wanted.value));
}

/// The spec may omit the node while the pod has none.
std::optional<Step> fill_in_node(StatusBuilder& builder) {
  if (!builder.spec().node_name.empty() || builder.pod()->node_name.empty()) return std::nullopt;
  return fill_from_pod(builder);
}

/// T2: the decision is too old to be carried out.
std::optional<Step> expire(StatusBuilder& builder) {
  take_release(builder);
  builder.set_deadline(pending_deadline(builder));
  if (builder.deadline_expired()) {
    builder.set_false_condition(ConditionType::kAccepted, Reason::kDecisionExpired);
    return builder.finish(EvacuationPhase::kCancelled, Reason::kDecisionExpired, expired_message(builder));
  }
  if (builder.status().deadline) builder.wake_at_deadline(*builder.status().deadline);
  return std::nullopt;
}

/// Accepts the Evacuation. Never returns a step.
std::optional<Step> accept(StatusBuilder& builder) {
  const bool is_made_by_policy = api::origin_is_verified(builder.evacuation());
  if (!is_made_by_policy && !builder.condition_has_reason(ConditionType::kAccepted, Reason::kValid)) {
    builder.record_event(EventReason::kAccepted, "the request is valid");
  }
  builder.set_true_condition(ConditionType::kAccepted, Reason::kValid);
  builder.set_pod_group(builder.seen().pod_group.name);  // also while suspended, because other members look for it
  return std::nullopt;
}

constexpr std::array<Rule, 16> kPendingRules = {
    end_if_cancelled,      // T2
    reject_invalid_spec,   // T1
    end_if_required,       // T2b: the spec differs from the accepted one; servers that enforce the CRD prevent this
    refuse_priority,       // T1
    fill_in_uid,           // T1
    reject_immovable_pod,  // T1
    reject_other_node,     // T1
    fill_in_node,
    reject_duplicate,  // T1
    refuse_request,    // T37
    expire,            // T2
    accept,
    wait_while_suspended,
    wait_for_pod_group,
    end_without_destination,  // T2
    begin_with_slot,          // T3
};

}  // namespace

Step decide_pending(StatusBuilder& builder) { return first_answer(kPendingRules, builder); }

std::optional<Step> reject_duplicate(StatusBuilder& builder) {
  const std::string& older = builder.seen().duplicate_of;
  if (older.empty()) return std::nullopt;
  return builder.finish(EvacuationPhase::kFailed, Reason::kDuplicateRequest,
                        fmt::format("Evacuation {} already moves pod {}", older, builder.spec().pod_ref.name));
}

std::optional<Step> wait_while_suspended(StatusBuilder& builder) {
  if (!builder.spec().suspend) return std::nullopt;
  builder.set_false_condition(ConditionType::kSlotAcquired, Reason::kPaused, "spec.suspend is true");
  builder.set_blocker(make_blocker(BlockerKind::kSuspended, "", "set spec.suspend to false to approve it"));
  return builder.wait();
}

/// T2, T25b: the evicted pod would land on a node that is being emptied.
std::optional<Step> end_without_destination(StatusBuilder& builder) {
  const std::string& why = builder.seen().no_destination;
  if (why.empty()) return std::nullopt;
  if (builder.status().attempt == 0) builder.set_false_condition(ConditionType::kAccepted, Reason::kDecisionExpired);
  return builder.finish(EvacuationPhase::kCancelled, Reason::kDecisionExpired, why);
}

std::optional<Step> begin_with_slot(StatusBuilder& builder) {
  const bool of_last_attempt = builder.status().attempt != builder.seen().evacuation.status.attempt;
  switch (of_last_attempt ? Slot::State::kNotAsked : builder.seen().slot.state) {
    case Slot::State::kNotAsked: builder.request_slot(needs_capacity(builder)); return builder.wait();
    case Slot::State::kWaiting: return wait_for_slot(builder, builder.seen().slot);
    case Slot::State::kGranted: break;
  }
  if (!needs_finalizer(builder)) return begin_attempt(builder);
  builder.add_finalizer();
  return builder.wait();
}

Step begin_attempt(StatusBuilder& builder) {
  builder.start_attempt();
  const std::string& reserved_node = builder.seen().slot.reserved_node;
  if (reserved_node.empty()) {
    builder.set_true_condition(ConditionType::kSlotAcquired, Reason::kAcquired);
  } else {
    builder.set_target_node({reserved_node});
    builder.set_true_condition(ConditionType::kSlotAcquired, Reason::kCapacityReserved,
                               "capacity for a surge pod is reserved on node " + reserved_node);
  }
  const std::int32_t attempt = builder.status().attempt;
  builder.record_event(
      EventReason::kSlotAcquired,
      fmt::format("attempt {} of {} to evacuate pod {} from node {} starts", attempt, builder.spec().retry.max_attempts,
                  builder.spec().pod_ref.name, builder.pod()->node_name.value),
      attempt == 1 ? EventOn::kEvacuationAndPod : EventOn::kEvacuation);
  builder.enter(EvacuationPhase::kPreparing, Reason::kSlotAcquired, fmt::format("attempt {}", attempt));
  builder.set_deadline(builder.now() + builder.timeouts().prepare);
  return Step::kAgain;
}

}  // namespace controllers::evacuation
