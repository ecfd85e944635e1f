#include "cmd/drain/drain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "api/json/strict_object.hpp"
#include "api/meta/well_known.hpp"
#include "api/pod_group.hpp"
#include "api/virtual_machine.hpp"

namespace cmd::plugin {
namespace {

constexpr std::array kRankNames = {
    api::WireName{DrainRank::kReplicated, "replicated"}, api::WireName{DrainRank::kSingle, "single replica"},
    api::WireName{DrainRank::kStateful, "stateful"}, api::WireName{DrainRank::kUnmanaged, "unmanaged"}};

bool has_volume(const api::Pod& pod, api::VolumeKind kind) {
  return std::ranges::any_of(pod.volumes, [&](const api::Volume& volume) { return volume.kind == kind; });
}

bool keeps_state(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  return (owner && owner->kind == "StatefulSet") || has_volume(pod, api::VolumeKind::kPersistentVolumeClaim) ||
         has_volume(pod, api::VolumeKind::kEphemeral) || pod.meta.annotations.contains(api::well_known::kHandoffMode);
}

DrainVerdict refuse(std::string reason, std::string flag = {}) {
  return {DrainAction::kRefuse, std::move(reason), std::move(flag), {}};
}

/// Returns why the pod stays, or leaves without an Evacuation; empty if it does not.
std::string why_skipped(const api::Pod& pod, const DrainRules& rules) {
  if (pod.is_mirror()) return "static pod: its kubelet would restart it";
  if (pod.is_terminal()) return "has terminated: none of its containers run";
  if (pod.meta.is_terminating()) return "is already terminating";
  if (pod.is_daemon_set())
    return rules.ignore_daemonsets ? "managed by a DaemonSet: it would come back to the same node" : "";
  if (api::is_hotplug_pod(pod)) return "attaches disks to a virtual machine: it moves with the machine";
  return {};
}

bool ends_machine(const api::Pod& pod, const DrainRules& rules) {
  return rules.shutdown_launchers.contains(pod.meta.uid);
}

/// Returns why the pod cannot leave without the rest of its PodGroup, empty if it can.
std::string why_group_stays(const api::Pod& pod, const DrainRules& rules) {
  if (!rules.pod_groups) return {};
  const auto is_its = [&](const api::SchedulingPodGroup& group) {
    return group.meta.ns == pod.meta.ns && pod.scheduling_group == group.meta.name;
  };
  const auto group = std::ranges::find_if(*rules.pod_groups, is_its);
  return api::scheduling_group_blocker(pod, group == rules.pod_groups->end() ? nullptr : &*group);
}

/// Returns the data that the pod's eviction loses, empty if it loses none.
std::string lost_data(const api::Pod& pod, const DrainRules& rules) {
  if (ends_machine(pod, rules))
    return "runs a virtual machine that cannot be migrated: the guest is shut down, and the data in the pod's emptyDir "
           "volumes is lost";
  return api::loses_empty_dirs(pod) ? "has data in an emptyDir volume, which is lost when the pod leaves" : "";
}

std::string warning_about(const api::Pod& pod, const DrainRules& rules) {
  if (!pod.meta.controller()) return "nothing will recreate it";
  if (ends_machine(pod, rules)) return "its virtual machine cannot be migrated: the guest is shut down";
  if (api::loses_empty_dirs(pod)) return "the data in its emptyDir is lost";
  return {};
}

auto drain_order(const DrainMove& move) {
  return std::tuple(move.pod.priority.value_or(0), move.rank, move.pod.meta.key());
}

/// Assigns one priority per combination of PriorityClass and rank, so that within it the older Evacuation goes first.
void number_classes(std::vector<DrainMove>& moves) {
  std::int32_t next = kDrainPriority;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const bool same_class = i == 0 || (moves[i].pod.priority.value_or(0) == moves[i - 1].pod.priority.value_or(0) &&
                                       moves[i].rank == moves[i - 1].rank);
    if (!same_class) --next;
    moves[i].priority = next;
  }
}

}  // namespace

DrainVerdict judge(const api::Pod& pod, const DrainRules& rules) {
  if (std::string why = why_skipped(pod, rules); !why.empty()) return {DrainAction::kSkip, std::move(why), {}, {}};
  if (pod.is_daemon_set()) return refuse("is managed by a DaemonSet and would come back", "--ignore-daemonsets");
  if (const std::string why = why_group_stays(pod, rules); !why.empty()) return refuse("cannot leave alone: " + why);
  if (std::string lost = lost_data(pod, rules); !lost.empty() && !rules.delete_emptydir_data)
    return refuse(std::move(lost), "--delete-emptydir-data");
  if (!pod.meta.controller() && !rules.force) return refuse("has no controller: nothing would recreate it", "--force");
  return {DrainAction::kEvacuate, {}, {}, warning_about(pod, rules)};
}

std::string_view to_string(DrainRank rank) { return api::name_of(kRankNames, rank); }

DrainRank rank_of(const api::Pod& pod, std::optional<std::int32_t> replicas) {
  if (!pod.meta.controller()) return DrainRank::kUnmanaged;
  if (keeps_state(pod)) return DrainRank::kStateful;
  return replicas && *replicas <= 1 ? DrainRank::kSingle : DrainRank::kReplicated;
}

DrainPlan plan_drain(std::vector<api::Pod> pods, const DrainRules& rules, const ReplicasOf& replicas_of) {
  DrainPlan plan;
  std::ranges::sort(pods, {}, [](const api::Pod& pod) { return pod.meta.key(); });
  for (api::Pod& pod : pods) {
    DrainVerdict verdict = judge(pod, rules);
    if (verdict.fate == DrainAction::kEvacuate) {
      const DrainRank rank = rank_of(pod, replicas_of(pod));
      plan.moves.push_back({std::move(pod), rank, 0, std::move(verdict.warning)});
      continue;
    }
    auto& stays = verdict.fate == DrainAction::kSkip ? plan.skipped : plan.refused;
    stays.push_back({pod.meta.key(), std::move(verdict)});
  }
  std::ranges::sort(plan.moves, [](const DrainMove& a, const DrainMove& b) { return drain_order(a) < drain_order(b); });
  number_classes(plan.moves);
  return plan;
}

}  // namespace cmd::plugin
