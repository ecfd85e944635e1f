#pragma once

/// PodGroups: pods that leave together or in a declared order (docs/concepts/pod-groups.md, ADR 7).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "api/core/kinds.hpp"

namespace api {

/// PodGroup declared by a pod.
struct PodGroup {
  std::string name;        ///< unique in the pod's namespace: "trainer", "LeaderWorkerSet/llm/0", "Job/train"
  std::int32_t order = 0;  ///< lower ones leave before higher ones; equal ones together
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

/// Maximum number of pods in a PodGroup; larger ones never leave. Each reconcile and each plan compares every pod of a
/// PodGroup with all others.
inline constexpr std::size_t kMaxPodsOfPodGroup = 64;

/// Returns the pod's PodGroup, nullopt if it leaves alone. The first match wins: evacuator.dev/group as annotation,
/// then as label (an empty value removes the pod from every group); LeaderWorkerSet (group by group, workers before the
/// leader); a Job with completion indexes. Annotation evacuator.dev/group-order overrides the order.
std::optional<PodGroup> pod_group_of(const Pod& pod);

/// Returns false if no pod with these labels or annotations can be in a PodGroup. Cheaper than pod_group_of().
bool may_declare_pod_group(const StringMap& labels_or_annotations);

/// Returns why the pod may not leave alone because of the scheduling.k8s.io PodGroup in its spec, "" if it may
/// (terminal pods always may). `group` is that PodGroup; nullptr means unknown, and is treated as one that leaves as a
/// whole. Do not call if the server has no such PodGroups.
std::string scheduling_group_blocker(const Pod& pod, const SchedulingPodGroup* group);

/// Returns true if the pod still counts as a member of its PodGroup: neither terminal nor terminating.
bool is_active_member(const Pod& pod);

}  // namespace api
