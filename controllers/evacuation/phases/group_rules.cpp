#include <fmt/format.h>

#include <algorithm>

#include "controllers/admission/request.hpp"
#include "controllers/evacuation/phases/group_view.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"

/// Rules of an Evacuation in a PodGroup (docs/concepts/pod-groups.md): no member begins before all may begin, and none
/// leaves before all are ready to leave.
namespace controllers::evacuation {
namespace {

Step wait_with_pod_group(StatusBuilder& builder, api::Blocker blocker) {
  builder.set_false_condition(ConditionType::kSlotAcquired, Reason::kWaitingForGroup, blocker.message);
  builder.set_blocker(std::move(blocker));
  builder.wake_at(builder.now() + kRefreshWaiting);
  return builder.wait();
}

/// Whether PDBs apply: they limit evictions, but not virtual machines or pods whose owner must hand them over.
bool budgets_count(const StatusBuilder& builder) {
  const api::OwnerReference* owner = builder.pod()->meta.controller();
  if (owner && owner->kind == "VirtualMachineInstance") return false;
  const evictors::Evictor* evictor = likely_evictor(builder);
  return evictor && !evictor->probe(builder.context_for(evictor->name())).required;
}

/// The PDB that would allow only a part of the PodGroup to leave.
std::optional<api::Blocker> short_budget(const StatusBuilder& builder) {
  const PodGroupView& pod_group = builder.seen().pod_group;
  for (const auto& pdb : builder.seen().pdbs) {
    const std::int32_t needed = covered_together(pod_group, *pdb);
    if (pdb->disruptions_allowed >= needed) continue;
    api::Blocker blocker =
        make_blocker(BlockerKind::kPodDisruptionBudget, pdb->meta.name,
                     fmt::format("allows {} disruptions now, and {} pods of PodGroup {} leave at the same time",
                                 pdb->disruptions_allowed, needed, pod_group.name));
    blocker.disruptions_allowed = pdb->disruptions_allowed;
    blocker.current_healthy = pdb->current_healthy;
    blocker.desired_healthy = pdb->desired_healthy;
    return blocker;
  }
  return std::nullopt;
}

Step stay_with(StatusBuilder& builder, const PodGroupMember& member) {
  const std::string why =
      member.evacuation ? fmt::format("{}: {}", member.evacuation->status.reason, member.evacuation->status.message)
                        : std::string("its Evacuation was deleted");
  builder.set_false_condition(ConditionType::kGroupReady, Reason::kMemberStays, member.pod + " stays");
  return leave_attempt(builder, EvacuationPhase::kFailed, Reason::kGroupStays,
                       fmt::format("{} of PodGroup {} stays: {}", member.pod, builder.seen().pod_group.name, why));
}

/// Extends the deadline to that of members that are still preparing, which may have a long hook.
void follow_deadlines(StatusBuilder& builder) {
  for (const PodGroupMember& member : builder.seen().pod_group.members) {
    const bool prepares = member.evacuation && member.evacuation->status.phase == EvacuationPhase::kPreparing;
    const auto& deadline = builder.status().deadline;
    if (prepares && deadline && member.evacuation->status.deadline)
      builder.set_deadline(std::max(*deadline, *member.evacuation->status.deadline));
  }
}

Step wait_for_votes(StatusBuilder& builder, const std::string& waiting) {
  follow_deadlines(builder);
  const auto& deadline = builder.status().deadline;
  if (deadline && builder.expired(*deadline)) {
    builder.set_false_condition(ConditionType::kGroupReady, Reason::kTimedOut, "not ready in time: " + waiting);
    return retry_or_fail(
        builder, Reason::kGroupStays,
        fmt::format("PodGroup {} was not ready within timeouts.prepare: {}", builder.seen().pod_group.name, waiting));
  }
  if (deadline) builder.wake_at_deadline(*deadline);
  builder.set_true_condition(ConditionType::kGroupReady, Reason::kPrepared, "ready to leave, waits for " + waiting);
  return builder.wait();
}

/// All members are ready, and only the order delays this one. Members of lower order have their own deadlines.
Step wait_for_turn(StatusBuilder& builder, const std::string& earlier) {
  builder.set_deadline(std::nullopt);
  builder.set_true_condition(ConditionType::kGroupReady, Reason::kPrepared, "leaves after " + earlier);
  builder.wake_at(builder.now() + kRefreshWaiting);
  return builder.wait();
}

}  // namespace

std::optional<Step> wait_for_pod_group(StatusBuilder& builder) {
  const PodGroupView& pod_group = builder.seen().pod_group;
  if (pod_group.too_large) {
    return wait_with_pod_group(
        builder,
        make_blocker(
            BlockerKind::kPodGroup, pod_group.name,
            fmt::format(
                "more pods of the PodGroup leave at the same time than any limit allows: a PodGroup has at most {}",
                kMaxPodGroup)));
  }
  if (pod_group.alone()) return std::nullopt;
  if (const std::string missing = not_requested(pod_group); !missing.empty()) {
    return wait_with_pod_group(
        builder, make_blocker(BlockerKind::kPodGroup, pod_group.name,
                              fmt::format("PodGroup {} leaves as a whole, and these members have no Evacuation: {}",
                                          pod_group.name, missing)));
  }
  if (!budgets_count(builder)) return std::nullopt;
  if (auto blocker = short_budget(builder)) return wait_with_pod_group(builder, *std::move(blocker));
  return std::nullopt;
}

std::optional<Step> wait_at_pod_group_gate(StatusBuilder& builder) {
  const PodGroupView& pod_group = builder.seen().pod_group;
  if (pod_group.alone() || builder.condition_has_reason(ConditionType::kGroupReady, Reason::kLeaving))
    return std::nullopt;
  const auto& members = pod_group.members;
  if (std::ranges::none_of(members, is_leaving)) {
    const auto stayed = std::ranges::find_if(members, has_stayed);
    if (stayed != members.end()) return stay_with(builder, *stayed);
    if (const std::string waiting = not_prepared(pod_group); !waiting.empty()) return wait_for_votes(builder, waiting);
  }
  if (const std::string earlier = waits_for_earlier(pod_group); !earlier.empty())
    return wait_for_turn(builder, earlier);
  builder.set_true_condition(ConditionType::kGroupReady, Reason::kLeaving,
                             "all members of PodGroup " + pod_group.name + " are ready");
  return std::nullopt;
}

}  // namespace controllers::evacuation
