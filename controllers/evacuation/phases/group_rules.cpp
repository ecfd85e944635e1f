#include <fmt/format.h>

#include <algorithm>

#include "controllers/evacuation/phases/draft.hpp"
#include "controllers/evacuation/phases/group_view.hpp"

/// What an Evacuation does for the sake of its PodGroup (docs/concepts/pod-groups.md): nobody begins before all may,
/// nobody leaves before all are ready to.
namespace controllers {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;

Step wait_with_pod_group(Draft& draft, api::Blocker blocker) {
  draft.set_condition(ConditionType::kSlotAcquired, ConditionStatus::kFalse, Reason::kWaitingForGroup, blocker.message);
  block_by(draft, std::move(blocker));
  draft.wake_at(draft.now() + kRefreshWaiting);
  return draft.wait();
}

/// Budgets hold those that are evicted; a virtual machine's or a handoff's owner has its own ways.
bool budgets_count(const Draft& draft) {
  const api::OwnerReference* owner = draft.pod()->meta.controller();
  if (owner && owner->kind == "VirtualMachineInstance") return false;
  const evictors::Evictor* evictor = likely_evictor(draft);
  return evictor && !evictor->probe(draft.context_for(evictor->name())).required;
}

/// The budget that would let some of the PodGroup go and hold the others.
std::optional<api::Blocker> short_budget(const Draft& draft) {
  const PodGroupView& pod_group = draft.seen().pod_group;
  for (const auto& pdb : draft.seen().pdbs) {
    const std::int32_t needed = covered_together(pod_group, *pdb);
    if (pdb->disruptions_allowed >= needed) continue;
    api::Blocker blocker =
        waiting_blocker(BlockerKind::kPodDisruptionBudget, pdb->meta.name,
                        fmt::format("allows {} disruptions now, and {} pods of group {} leave at the same time",
                                    pdb->disruptions_allowed, needed, pod_group.name));
    blocker.disruptions_allowed = pdb->disruptions_allowed;
    blocker.current_healthy = pdb->current_healthy;
    blocker.desired_healthy = pdb->desired_healthy;
    return blocker;
  }
  return std::nullopt;
}

Step stay_with(Draft& draft, const PodGroupMember& member) {
  const std::string why =
      member.evacuation ? fmt::format("{}: {}", member.evacuation->status.reason, member.evacuation->status.message)
                        : std::string("its Evacuation was deleted");
  draft.set_condition(ConditionType::kGroupReady, ConditionStatus::kFalse, Reason::kMemberStays, member.pod + " stays");
  return leave_attempt(draft, EvacuationPhase::kFailed, Reason::kGroupStays,
                       fmt::format("{} of group {} stays: {}", member.pod, draft.seen().pod_group.name, why));
}

/// As long as another one still prepares, its deadline counts here, too: it may have a long hook.
void follow_deadlines(Draft& draft) {
  auto& deadline = draft.status().deadline;
  for (const PodGroupMember& member : draft.seen().pod_group.members) {
    const bool prepares = member.evacuation && member.evacuation->status.phase == EvacuationPhase::kPreparing;
    if (prepares && deadline && member.evacuation->status.deadline)
      deadline = std::max(*deadline, *member.evacuation->status.deadline);
  }
}

Step wait_for_votes(Draft& draft, const std::string& waiting) {
  follow_deadlines(draft);
  const auto& deadline = draft.status().deadline;
  if (deadline && draft.expired(*deadline)) {
    draft.set_condition(ConditionType::kGroupReady, ConditionStatus::kFalse, Reason::kTimedOut,
                        "not ready in time: " + waiting);
    return retry_or_fail(
        draft, Reason::kGroupStays,
        fmt::format("group {} was not ready within timeouts.prepare: {}", draft.seen().pod_group.name, waiting));
  }
  if (deadline) draft.wake_at_deadline(*deadline);
  draft.set_condition(ConditionType::kGroupReady, ConditionStatus::kTrue, Reason::kPrepared,
                      "ready to leave, waits for " + waiting);
  return draft.wait();
}

/// Everybody is ready: only the order holds it now, and those before it have deadlines of their own.
Step wait_for_turn(Draft& draft, const std::string& earlier) {
  draft.status().deadline.reset();
  draft.set_condition(ConditionType::kGroupReady, ConditionStatus::kTrue, Reason::kPrepared, "leaves after " + earlier);
  draft.wake_at(draft.now() + kRefreshWaiting);
  return draft.wait();
}

}  // namespace

api::Blocker waiting_blocker(BlockerKind kind, std::string name, std::string message) {
  api::Blocker result;
  result.kind = to_string(kind);
  result.name = std::move(name);
  result.message = std::move(message);
  return result;
}

void block_by(Draft& draft, api::Blocker blocker) {
  auto& held = draft.status().blocked_by;
  blocker.since = draft.now();
  for (const api::Blocker& before : held) {
    if (before.kind == blocker.kind && before.name == blocker.name) blocker.since = before.since;
  }
  held = {std::move(blocker)};
}

std::optional<Step> wait_for_pod_group(Draft& draft) {
  const PodGroupView& pod_group = draft.seen().pod_group;
  if (pod_group.alone()) return std::nullopt;
  if (const std::string missing = not_requested(pod_group); !missing.empty()) {
    return wait_with_pod_group(
        draft, waiting_blocker(
                   BlockerKind::kPodGroup, pod_group.name,
                   fmt::format("group {} leaves as a whole, and these are not asked to: {}", pod_group.name, missing)));
  }
  if (!budgets_count(draft)) return std::nullopt;
  if (auto blocker = short_budget(draft)) return wait_with_pod_group(draft, *std::move(blocker));
  return std::nullopt;
}

std::optional<Step> pass_pod_group_gate(Draft& draft) {
  const PodGroupView& pod_group = draft.seen().pod_group;
  if (pod_group.alone() || draft.condition_has_reason(ConditionType::kGroupReady, Reason::kLeaving))
    return std::nullopt;
  const auto& members = pod_group.members;
  if (std::none_of(members.begin(), members.end(), is_leaving)) {
    const auto stayed = std::find_if(members.begin(), members.end(), has_stayed);
    if (stayed != members.end()) return stay_with(draft, *stayed);
    if (const std::string waiting = not_prepared(pod_group); !waiting.empty()) return wait_for_votes(draft, waiting);
  }
  if (const std::string earlier = goes_before(pod_group); !earlier.empty()) return wait_for_turn(draft, earlier);
  draft.set_condition(ConditionType::kGroupReady, ConditionStatus::kTrue, Reason::kLeaving,
                      "all of group " + pod_group.name + " are ready");
  return std::nullopt;
}

}  // namespace controllers
