#include "cmd/drain/drain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "api/meta/well_known.hpp"
#include "api/pod_group.hpp"
#include "api/virtual_machine.hpp"

namespace cmd::plugin {
namespace {

bool has_volume(const api::Pod& pod, api::VolumeKind kind) {
  return std::ranges::any_of(pod.volumes, [&](const api::Volume& volume) { return volume.kind == kind; });
}

bool keeps_state(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  return (owner && owner->kind == "StatefulSet") || has_volume(pod, api::VolumeKind::kPersistentVolumeClaim) ||
         has_volume(pod, api::VolumeKind::kEphemeral) || pod.meta.annotations.contains(api::well_known::kHandoffMode);
}

DrainVerdict skip(std::string reason) { return {DrainAction::kSkip, std::move(reason), {}, {}}; }

using DrainRule = std::optional<DrainVerdict> (*)(const api::Pod&, const DrainRules&);

std::optional<DrainVerdict> mirror_pod(const api::Pod& pod, const DrainRules&) {
  if (!pod.is_mirror()) return std::nullopt;
  return skip("static pod: its kubelet would restart it");
}

std::optional<DrainVerdict> finished_pod(const api::Pod& pod, const DrainRules&) {
  if (!pod.is_terminal()) return std::nullopt;
  return skip("has terminated: none of its containers run");
}

std::optional<DrainVerdict> terminating_pod(const api::Pod& pod, const DrainRules&) {
  if (!pod.meta.is_terminating()) return std::nullopt;
  return skip("is already terminating");
}

std::optional<DrainVerdict> daemon_pod(const api::Pod& pod, const DrainRules& rules) {
  if (!pod.is_daemon_set()) return std::nullopt;
  if (rules.ignore_daemonsets) return skip("managed by a DaemonSet: it would come back to the same node");
  return DrainVerdict{DrainAction::kRefuse, "is managed by a DaemonSet and would come back", "--ignore-daemonsets", {}};
}

std::optional<DrainVerdict> hotplug_pod(const api::Pod& pod, const DrainRules&) {
  if (!api::is_hotplug_pod(pod)) return std::nullopt;
  return skip("attaches disks to a virtual machine: it moves with the machine");
}

bool ends_machine(const api::Pod& pod, const DrainRules& rules) {
  return rules.shutdown_launchers.contains(pod.meta.uid);
}

std::optional<DrainVerdict> whole_group_pod(const api::Pod& pod, const DrainRules& rules) {
  if (!rules.pod_groups) return std::nullopt;
  const auto is_its = [&](const api::SchedulingPodGroup& group) {
    return group.meta.ns == pod.meta.ns && pod.scheduling_group == group.meta.name;
  };
  const auto group = std::ranges::find_if(*rules.pod_groups, is_its);
  const std::string why = api::scheduling_group_blocker(pod, group == rules.pod_groups->end() ? nullptr : &*group);
  if (why.empty()) return std::nullopt;
  return DrainVerdict{DrainAction::kRefuse, "cannot leave alone: " + why, {}, {}};
}

std::optional<DrainVerdict> local_data(const api::Pod& pod, const DrainRules& rules) {
  if (rules.delete_emptydir_data) return std::nullopt;
  if (ends_machine(pod, rules))
    return DrainVerdict{DrainAction::kRefuse,
                        "runs a virtual machine that cannot be migrated: the guest is shut down, and the data in the "
                        "pod's emptyDir volumes is lost",
                        "--delete-emptydir-data",
                        {}};
  if (!api::loses_empty_dirs(pod)) return std::nullopt;
  return DrainVerdict{DrainAction::kRefuse,
                      "has data in an emptyDir volume, which is lost when the pod leaves",
                      "--delete-emptydir-data",
                      {}};
}

std::optional<DrainVerdict> unmanaged_pod(const api::Pod& pod, const DrainRules& rules) {
  if (pod.meta.controller() || rules.force) return std::nullopt;
  return DrainVerdict{DrainAction::kRefuse, "has no controller: nothing would recreate it", "--force", {}};
}

constexpr DrainRule kDrainRules[] = {mirror_pod,  finished_pod,    terminating_pod, daemon_pod,
                                     hotplug_pod, whole_group_pod, local_data,      unmanaged_pod};

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
  for (const DrainRule rule : kDrainRules) {
    if (auto verdict = rule(pod, rules)) return *std::move(verdict);
  }
  return {DrainAction::kEvacuate, {}, {}, warning_about(pod, rules)};
}

std::string_view to_string(DrainRank rank) {
  switch (rank) {
    case DrainRank::kReplicated: return "replicated";
    case DrainRank::kSingle: return "single replica";
    case DrainRank::kStateful: return "stateful";
    case DrainRank::kUnmanaged: return "unmanaged";
  }
  std::abort();
}

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
