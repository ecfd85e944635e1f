#include "api/pod_group.hpp"

#include "api/meta/well_known.hpp"
#include "base/text.hpp"

namespace api {
namespace {

namespace names = well_known;

constexpr std::size_t kMaxPodGroupName = 253;
constexpr std::int32_t kLeaderOrder = 1;

std::optional<std::string> declared(const Pod& pod) {
  for (const StringMap* map : {&pod.meta.annotations, &pod.meta.labels}) {
    if (const std::string* name = map->find(names::kPodGroupKey)) return name->substr(0, kMaxPodGroupName);
  }
  return std::nullopt;
}

std::optional<PodGroup> of_leader_worker_set(const Pod& pod) {
  const std::string& set = pod.meta.labels.value(names::kLwsName);
  if (set.empty()) return std::nullopt;
  const std::string& index = pod.meta.labels.value(names::kLwsGroupIndex);
  const bool leader = pod.meta.labels.value(names::kLwsWorkerIndex) == "0";
  return PodGroup{"LeaderWorkerSet/" + set + "/" + (index.empty() ? "0" : index), leader ? kLeaderOrder : 0};
}

std::optional<PodGroup> of_indexed_job(const Pod& pod) {
  const OwnerReference* owner = pod.meta.controller();
  if (!owner || owner->kind != "Job") return std::nullopt;
  const bool indexed =
      pod.meta.annotations.contains(names::kCompletionIndex) || pod.meta.labels.contains(names::kCompletionIndex);
  return indexed ? std::optional(PodGroup{"Job/" + owner->name}) : std::nullopt;
}

/// Returns nullopt for anything but an integer.
std::optional<std::int32_t> stated_order(const Pod& pod) {
  return base::parse_number<std::int32_t>(pod.meta.annotations.value(names::kPodGroupOrder));
}

}  // namespace

std::optional<PodGroup> pod_group_of(const Pod& pod) {
  std::optional<PodGroup> pod_group;
  if (auto name = declared(pod)) {
    if (name->empty()) return std::nullopt;
    pod_group = PodGroup{*std::move(name)};
  } else if (pod_group = of_leader_worker_set(pod); !pod_group) {
    pod_group = of_indexed_job(pod);
  }
  if (!pod_group) return std::nullopt;
  if (const auto order = stated_order(pod)) pod_group->order = *order;
  return pod_group;
}

bool may_declare_pod_group(const StringMap& labels_or_annotations) {
  const auto has = [&](std::string_view key) { return labels_or_annotations.contains(key); };
  return has(names::kPodGroupKey) || has(names::kLwsName) || has(names::kCompletionIndex);
}

bool is_active_member(const Pod& pod) { return !pod.is_terminal() && !pod.meta.is_terminating(); }

std::string scheduling_group_blocker(const Pod& pod, const SchedulingPodGroup* group) {
  if (pod.scheduling_group.empty() || pod.is_terminal()) return {};
  if (group != nullptr && !group->is_disrupted_whole) return {};
  if (group == nullptr)
    return "its PodGroup " + pod.scheduling_group.get() +
           " (scheduling.k8s.io) is unknown, and may have to leave as a whole";
  return "its PodGroup " + pod.scheduling_group.get() +
         " (scheduling.k8s.io) has disruptionMode All: its pods do not leave individually";
}

}  // namespace api
