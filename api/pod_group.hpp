#pragma once

/// PodGroups: pods that leave together or in a stated order (docs/concepts/pod-groups.md, ADR 7).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "api/core/kinds.hpp"

namespace api {

/// What a pod declares.
struct PodGroup {
  std::string name;        ///< unique in the pod's namespace: "trainer", "LeaderWorkerSet/llm/0", "Job/train"
  std::int32_t order = 0;  ///< lower ones leave before higher ones; equal ones together
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

/// Pods of a PodGroup; larger ones never leave. One reconcile, and one plan, look at each pod together with all others.
inline constexpr std::size_t kMaxPodsOfPodGroup = 64;

/// nullopt: the pod leaves alone. The first of these that the pod shows counts: evacuator.dev/group as annotation, as
/// label (an empty value takes the pod out of every group); LeaderWorkerSet (group by group, workers before the
/// leader); a Job with completion indexes. The annotation evacuator.dev/group-order overrules the order.
std::optional<PodGroup> pod_group_of(const Pod& pod);

/// False: with these labels, and with these annotations, no pod is in a PodGroup. Cheaper to ask.
bool may_tell_pod_group(const StringMap& labels_or_annotations);

/// Why the pod may not leave alone for the sake of the PodGroup of scheduling.k8s.io that its spec names; "": it may,
/// as a pod that has ended.
/// `group`: that one; nullptr: it is not known, and may be one that leaves as a whole. Do not ask where the server has
/// no such PodGroups.
std::string objection_of_scheduling_group(const Pod& pod, const SchedulingPodGroup* group);

/// One of its PodGroup that still has to leave or to stay: neither ended nor on its way out.
bool counts_in_pod_group(const Pod& pod);

}  // namespace api
