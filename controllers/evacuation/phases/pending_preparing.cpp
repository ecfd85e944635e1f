#include <fmt/format.h>

#include "controllers/admission/request.hpp"
#include "controllers/evacuation/phases/draft.hpp"
#include "controllers/evacuation/phases/group_view.hpp"
#include "evictors/eviction_api.hpp"
#include "evictors/handoff/annotation.hpp"

namespace controllers {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;

Step reject(Draft& draft, Reason accepted_reason, std::string message) {
  draft.set_condition(ConditionType::kAccepted, ConditionStatus::kFalse, accepted_reason, message);
  return draft.finish(EvacuationPhase::kFailed, Reason::kInvalidSpec, std::move(message));
}

Step fill_from_pod(Draft& draft) {
  if (!draft.seen().pod) {
    draft.set_condition(ConditionType::kAccepted, ConditionStatus::kFalse, Reason::kPodNotFound);
    draft.status().outcome = api::EvacuationOutcome{api::OutcomeKind::kTargetGone, {}, {}};
    return draft.finish(EvacuationPhase::kCancelled, Reason::kTargetGone,
                        fmt::format("there is no pod {}", draft.spec().pod_ref.name));
  }
  draft.out().fill = SpecFill{draft.seen().pod->uid(), draft.seen().pod->node_name};
  draft.out().add_finalizer = !draft.has_finalizer();
  return draft.wait();
}

/// T1: what can never become a valid evacuation.
std::optional<Step> check_target(Draft& draft) {
  const api::Pod& pod = *draft.pod();
  if (pod.is_mirror())
    return reject(draft, Reason::kExcludedByPolicy, "a static pod cannot be moved: its kubelet restarts it");
  if (pod.is_daemon_set()) {
    return reject(draft, Reason::kExcludedByPolicy,
                  "a DaemonSet's pod cannot be moved: it would come back to the same node");
  }
  const auto& wanted = draft.spec().node_name;
  if (!wanted.empty() && wanted != pod.node_name) {
    return reject(draft, Reason::kInvalidSpec,
                  fmt::format("spec.nodeName: the pod is on node {}, not on {}",
                              pod.node_name.empty() ? "(none)" : pod.node_name.value, wanted.value));
  }
  return std::nullopt;
}

std::optional<Step> check_duplicate(Draft& draft) {
  if (draft.seen().duplicate_of.empty()) return std::nullopt;
  return draft.finish(
      EvacuationPhase::kFailed, Reason::kDuplicateRequest,
      fmt::format("Evacuation {} already moves pod {}", draft.seen().duplicate_of, draft.spec().pod_ref.name));
}

Step wait_suspended(Draft& draft) {
  draft.set_condition(ConditionType::kSlotAcquired, ConditionStatus::kFalse, Reason::kPaused, "spec.suspend is true");
  block_by(draft, waiting_blocker(BlockerKind::kSuspended, "", "set spec.suspend to false to release it"));
  return draft.wait();
}

/// Decision TTL of Pending. While it waits for a person only an explicit one counts, else nobody could approve in time.
std::optional<base::TimePoint> pending_deadline(const Draft& draft) {
  const base::TimePoint created = draft.evacuation().meta.creation_timestamp;
  if (draft.spec().suspend && !draft.spec().timeouts.decision_ttl) return std::nullopt;
  // Released by a person: the plan was looked at now, so its time starts now.
  const bool from_creation = draft.spec().timeouts.decision_ttl.has_value() || !draft.status().phase_entered_at;
  const base::TimePoint start = from_creation ? created : std::max(created, *draft.status().phase_entered_at);
  return start + draft.timeouts().decision_ttl;
}

/// What held it up to the end is worth knowing where it is a group: nobody else tells.
std::string expired_message(const Draft& draft) {
  const std::string within = base::format_duration(draft.timeouts().decision_ttl);
  const auto& held = draft.status().blocked_by;
  if (held.empty() || held.front().kind != BlockerKind::kPodGroup) return "no slot within " + within;
  return fmt::format("its group could not leave within {}: {}", within, held.front().message);
}

void note_release(Draft& draft) {
  auto& held = draft.status().blocked_by;
  const bool was_suspended = !held.empty() && held.front().kind == BlockerKind::kSuspended;
  if (draft.spec().suspend || !was_suspended) return;
  held.clear();
  draft.status().phase_entered_at = draft.now();
}

Reason reason_of(api::LimitScope scope) {
  switch (scope) {
    case api::LimitScope::kTotal: return Reason::kWaitingTotal;
    case api::LimitScope::kNode: return Reason::kWaitingNode;
    case api::LimitScope::kTargetNode: return Reason::kWaitingTargetNode;
    case api::LimitScope::kNamespace: return Reason::kWaitingNamespace;
    case api::LimitScope::kWorkload: return Reason::kWaitingWorkload;
    case api::LimitScope::kZone: return Reason::kWaitingZone;
    case api::LimitScope::kRate: return Reason::kWaitingRate;
    case api::LimitScope::kCooldown: return Reason::kCoolingDown;
  }
  return Reason::kWaitingTotal;
}

Reason waiting_reason(const api::Blocker& blocker) {
  if (blocker.kind == BlockerKind::kAuditLog) return Reason::kWaitingAuditLog;
  if (blocker.kind == BlockerKind::kCapacity) return Reason::kWaitingCapacity;
  if (blocker.kind == BlockerKind::kPodGroup) return Reason::kWaitingForGroup;
  return reason_of(api::scope_of_limit(blocker.name).value_or(api::LimitScope::kTotal));
}

Step wait_for_slot(Draft& draft, const Slot& slot) {
  draft.wake_at(slot.retry_at.value_or(draft.now() + kRefreshWaiting));
  if (!slot.limit && slot.retry_at) return draft.wait();
  const api::Blocker limit = slot.limit.value_or(waiting_blocker(BlockerKind::kLimit, "total", ""));
  draft.set_condition(ConditionType::kSlotAcquired, ConditionStatus::kFalse, waiting_reason(limit));
  block_by(draft, limit);
  return draft.wait();
}

void forget_last_attempt(Draft& draft) {
  api::EvacuationStatus& status = draft.status();
  status.evictor.clear();
  status.adapter.clear();
  status.in_progress_since.reset();
  status.blocked_since.reset();
  status.last_heartbeat_at.reset();
  status.last_heartbeat_value.clear();
  status.progress.reset();
  status.expected_completion_at.reset();
  status.queued_since.reset();
  status.remote_failures = 0;
  status.target_node = {};
  status.refs.clear();
  status.blocked_count = 0;
  status.intent.reset();
  status.abort.reset();
  status.blocked_by.clear();
  for (const ConditionType type :
       {ConditionType::kHandoffAcknowledged, ConditionType::kReadyToEvict, ConditionType::kEvictionGranted,
        ConditionType::kProgressing, ConditionType::kRollbackComplete}) {
    draft.forget_condition(type);
  }
  if (!draft.condition_has_reason(ConditionType::kGroupReady, Reason::kLeaving))
    draft.forget_condition(ConditionType::kGroupReady);
}

/// T3, T25: from here on the slot is visible to every later leader.
Step begin_attempt(Draft& draft) {
  api::EvacuationStatus& status = draft.status();
  forget_last_attempt(draft);
  status.attempt += 1;
  status.token = fmt::format("{}.{}", draft.evacuation().meta.uid, status.attempt);
  if (!status.started_at) status.started_at = draft.now();
  status.attempt_started_at = draft.now();
  if (const api::OwnerReference* owner = draft.pod()->meta.controller()) status.pod_owner = *owner;
  const std::string owner_uid = status.pod_owner ? status.pod_owner->uid : std::string();
  status.workload_group = draft.spec().concurrency_group.empty() ? owner_uid : draft.spec().concurrency_group;
  const std::string& reserved_node = draft.seen().slot.reserved_node;
  if (reserved_node.empty()) {
    draft.set_condition(ConditionType::kSlotAcquired, ConditionStatus::kTrue, Reason::kAcquired);
  } else {
    status.target_node = {reserved_node};
    draft.set_condition(ConditionType::kSlotAcquired, ConditionStatus::kTrue, Reason::kCapacityReserved,
                        "capacity for a surge pod is reserved on node " + reserved_node);
  }
  draft.record_event(
      EventReason::kSlotAcquired,
      fmt::format("attempt {} of {} to evacuate pod {} from node {} begins", status.attempt,
                  draft.spec().retry.max_attempts, draft.spec().pod_ref.name, draft.pod()->node_name.value),
      status.attempt == 1 ? EventOn::kEvacuationAndPod : EventOn::kEvacuation);
  draft.enter(EvacuationPhase::kPreparing, Reason::kSlotAcquired, fmt::format("attempt {}", status.attempt));
  status.deadline = draft.now() + draft.timeouts().prepare;
  return Step::kAgain;
}

// --- Preparing

Step not_evictable(Draft& draft, const std::string& why) {
  draft.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kFalse, Reason::kNotEvictable, why);
  return leave_attempt(draft, EvacuationPhase::kFailed, Reason::kNotEvictable, why);
}

/// Nothing runs in it: no owner has to be asked, no handoff made, and the server asks no budget.
bool choose_for_terminal_pod(Draft& draft) {
  if (!draft.removes_terminal_pod() || !draft.registry().find(evictors::EvictionApi::kName)) return false;
  draft.status().evictor = evictors::EvictionApi::kName;
  draft.status().adapter = kTerminalPod;
  draft.set_condition(ConditionType::kHandoffAcknowledged, ConditionStatus::kFalse, Reason::kNotApplicable);
  return true;
}

/// T4; nullopt: an evictor is chosen.
std::optional<Step> choose_evictor(Draft& draft) {
  api::EvacuationStatus& status = draft.status();
  if (status.evictor.empty() && choose_for_terminal_pod(draft)) return std::nullopt;
  if (!status.evictor.empty()) {
    if (draft.evictor()) return std::nullopt;
    return not_evictable(draft, fmt::format("this version of Evacuator has no evictor {}", status.evictor));
  }
  std::string why_not;
  std::optional<base::TimePoint> ask_again;
  const auto chosen = resolve_evictor(draft, status.evictor_index, &why_not, &ask_again);
  if (!chosen && ask_again) {
    draft.wake_at(*ask_again);
    return draft.wait();
  }
  if (!chosen) return not_evictable(draft, why_not);
  status.evictor = chosen->evictor;
  status.evictor_index = chosen->index;
  status.adapter = chosen->probe.adapter;
  if (status.deadline) *status.deadline += chosen->probe.prepare;
  draft.set_condition(
      ConditionType::kHandoffAcknowledged, ConditionStatus::kFalse,
      chosen->probe.acknowledges && !draft.spec().dry_run ? Reason::kAwaitingAcknowledgement : Reason::kNotApplicable);
  if (chosen->probe.reports_post && !api::find_condition(status.conditions, ConditionType::kPostCompleted)) {
    draft.set_condition(ConditionType::kPostCompleted, ConditionStatus::kUnknown, Reason::kWaiting,
                        "to be set to True by the workload's operator once its work after the move is done");
  }
  return std::nullopt;
}

Step prepare(Draft& draft, evictors::Action action) {
  const auto retry_at = draft.status().next_action_at;
  if (auto ended = check_blocked(draft)) return *ended;
  if (retry_at && *retry_at > draft.now()) {
    draft.wake_at(*retry_at);
    return draft.wait();
  }
  if (!draft.intent_open() && draft.status().blocked_count == 0) {
    draft.record_event(EventReason::kHandoffRequested, "asked the pod's owner to prepare");
  }
  return draft.act(std::move(action));
}

/// T22: the evictor before entry `end` of the chain for which only the pod's owner may let it go; empty: none.
std::string owners_evictor(const Draft& draft, const std::vector<api::EvictorChoice>& chain, std::size_t end) {
  for (std::size_t i = 0; i < std::min(end, chain.size()); ++i) {
    const evictors::Evictor* evictor = draft.registry().find(chain[i].name);
    if (evictor && evictor->owner_decides(draft.context_for(chain[i].name))) return chain[i].name;
  }
  return {};
}

/// The pod itself declares that only its owner lets it go. That holds for every chain, whoever is in it (I10).
bool declares_owner(const Draft& draft) {
  const evictors::Evictor* handoff = draft.registry().find(evictors::handoff::AnnotationEvictor::kName);
  return handoff && handoff->owner_decides(draft.context_for(evictors::handoff::AnnotationEvictor::kName));
}

/// By whom the owner is asked, if this evictor must not move the pod; empty: it may.
std::string who_decides_instead(const Draft& draft, const std::vector<api::EvictorChoice>& chain, std::size_t at,
                                const evictors::Evictor& evictor, const evictors::Probe& probe) {
  if (probe.support != evictors::Support::kSupported) return {};
  const bool asks_owner = evictor.owner_decides(draft.context_for(chain[at].name));
  if (!asks_owner && declares_owner(draft)) return std::string(evictors::handoff::AnnotationEvictor::kName);
  return probe.required ? std::string() : owners_evictor(draft, chain, at);
}

}  // namespace

std::optional<Resolution> resolve_evictor(const Draft& draft, std::int32_t from, std::string* why_not,
                                          std::optional<base::TimePoint>* ask_again) {
  const auto chain = draft.chain();
  for (std::size_t i = static_cast<std::size_t>(std::max(from, 0)); i < chain.size(); ++i) {
    const evictors::Evictor* evictor = draft.registry().find(chain[i].name);
    if (!why_not->empty()) *why_not += "; ";
    if (!evictor) {
      *why_not += fmt::format("{}: no such evictor", chain[i].name);
      continue;
    }
    evictors::Probe probe = evictor->probe(draft.context_for(chain[i].name));
    if (const std::string other = who_decides_instead(draft, chain, i, *evictor, probe); !other.empty()) {
      *why_not += fmt::format("{}: only its owner lets this pod go, who is asked by {}", chain[i].name, other);
      continue;
    }
    if (probe.support == evictors::Support::kSupported) {
      return Resolution{chain[i].name, static_cast<std::int32_t>(i), std::move(probe)};
    }
    if (probe.support == evictors::Support::kUnavailable && !*ask_again) {
      *ask_again = probe.until.value_or(draft.now() + kRefreshWaiting);
    }
    *why_not += fmt::format("{}: {}", chain[i].name, probe.reason);
    if (probe.support == evictors::Support::kUnavailable && probe.hold) return std::nullopt;
  }
  if (why_not->empty()) *why_not = "no evictor is left in spec.evictors";
  return std::nullopt;
}

namespace {

bool needs_capacity(const Draft& draft) {
  if (!draft.pod() || draft.spec().dry_run || draft.removes_terminal_pod()) return false;
  const evictors::Evictor* evictor = likely_evictor(draft);
  return evictor && evictor->needs_capacity(draft.context_for(evictor->name()));
}

}  // namespace

const evictors::Evictor* likely_evictor(const Draft& draft) {
  const auto chain = draft.chain();
  for (auto i = static_cast<std::size_t>(std::max(draft.status().evictor_index, 0)); i < chain.size(); ++i) {
    const evictors::Evictor* evictor = draft.registry().find(chain[i].name);
    if (!evictor) continue;
    const evictors::Probe probe = evictor->probe(draft.context_for(chain[i].name));
    if (probe.support != evictors::Support::kUnsupported) return evictor;
  }
  return nullptr;
}

Step ask_for_slot(Draft& draft) {
  const bool of_last_attempt = draft.status().attempt != draft.seen().evacuation.status.attempt;
  switch (of_last_attempt ? Slot::State::kNotAsked : draft.seen().slot.state) {
    case Slot::State::kNotAsked:
      draft.out().wants_slot = true;
      draft.out().needs_capacity = needs_capacity(draft);
      return draft.wait();
    case Slot::State::kWaiting: return wait_for_slot(draft, draft.seen().slot);
    case Slot::State::kGranted: break;
  }
  if (!draft.has_finalizer()) {
    draft.out().add_finalizer = true;
    return draft.wait();
  }
  return begin_attempt(draft);
}

Step decide_pending(Draft& draft) {
  if (draft.cancelled()) {
    return draft.finish(EvacuationPhase::kCancelled, draft.cancel_reason(), draft.cancel_message());
  }
  if (!draft.seen().spec_problem.empty()) return reject(draft, Reason::kInvalidSpec, draft.seen().spec_problem);
  if (draft.spec().pod_ref.uid.empty()) return fill_from_pod(draft);
  if (auto ended = check_target(draft)) return *ended;
  if (draft.spec().node_name.empty() && !draft.pod()->node_name.empty()) return fill_from_pod(draft);
  if (auto ended = check_duplicate(draft)) return *ended;
  note_release(draft);
  draft.status().deadline = pending_deadline(draft);
  if (draft.status().deadline && draft.expired(*draft.status().deadline)) {
    draft.set_condition(ConditionType::kAccepted, ConditionStatus::kFalse, Reason::kDecisionExpired);
    return draft.finish(EvacuationPhase::kCancelled, Reason::kDecisionExpired, expired_message(draft));
  }
  if (draft.status().deadline) draft.wake_at_deadline(*draft.status().deadline);
  if (!draft.condition_has_reason(ConditionType::kAccepted, Reason::kValid))
    draft.record_event(EventReason::kAccepted, "the request is valid");
  draft.set_condition(ConditionType::kAccepted, ConditionStatus::kTrue, Reason::kValid);
  draft.status().group = draft.seen().pod_group.name;  // also while suspended: the others look for it
  if (draft.spec().suspend) return wait_suspended(draft);
  if (auto held = wait_for_pod_group(draft)) return *held;
  return ask_for_slot(draft);
}

Step decide_backoff(Draft& draft) {
  if (auto ending = draft.must_end()) return draft.finish(ending->phase, ending->reason, std::move(ending->message));
  if (!draft.attempts_left()) {
    return draft.finish(EvacuationPhase::kFailed, Reason::kMaxAttempts,
                        fmt::format("all {} attempts are used up", draft.status().attempt));
  }
  const base::TimePoint due = draft.status().next_action_at.value_or(draft.now());
  draft.status().deadline = due + draft.timeouts().decision_ttl;
  if (draft.expired(*draft.status().deadline)) {
    return draft.finish(EvacuationPhase::kCancelled, Reason::kDecisionExpired, "no slot for the next attempt in time");
  }
  draft.wake_at_deadline(*draft.status().deadline);
  if (due > draft.now()) {
    draft.wake_at(due);
    return draft.wait();
  }
  if (draft.spec().suspend) return wait_suspended(draft);
  return ask_for_slot(draft);
}

Step decide_preparing(Draft& draft) {
  if (auto ending = draft.must_end()) {
    return leave_attempt(draft, ending->phase, ending->reason, std::move(ending->message));
  }
  if (!draft.status().deadline) draft.status().deadline = draft.now() + draft.timeouts().prepare;
  draft.wake_at_deadline(*draft.status().deadline);
  const bool too_long = draft.expired(*draft.status().deadline);
  if (auto ended = choose_evictor(draft); ended && !(too_long && *ended == Step::kSettled)) return *ended;
  if (!draft.evictor()) {
    return retry_or_fail(draft, Reason::kNotEvictable, "no evictor became available within timeouts.prepare");
  }
  const evictors::Observation remote = draft.evictor()->observe(draft.context());
  if (auto ended = follow_remote(draft, remote)) return *ended;
  evictors::EvictionStep plan = draft.evictor()->plan(draft.context());
  if (plan.next == evictors::NextMove::kProceed) {
    draft.resolve_intent("Observed");
    if (auto held = pass_pod_group_gate(draft)) return *held;
    draft.status().blocked_since.reset();  // of a hook that is over; the request has its own clock
    return draft.enter(EvacuationPhase::kRequesting, Reason::kPrepared, "ready to make the request");
  }
  show_wait(draft, plan);
  if (too_long) {
    return timed_out(draft, Reason::kProgressTimeout,
                     "preparing took longer than timeouts.prepare" + waited_for(draft));
  }
  if (plan.next == evictors::NextMove::kAct) return prepare(draft, std::move(*plan.action));
  draft.resolve_intent("Observed");
  if (auto ended = check_remote_deadlines(draft, remote)) return *ended;
  return draft.wait();
}

}  // namespace controllers
