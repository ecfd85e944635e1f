#include "controllers/evacuation/group_lookup.hpp"

#include <map>

#include "api/meta/condition.hpp"
#include "api/pod_group.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers::evacuation {
namespace {

std::string pod_group_key(const std::string& ns, const std::string& pod_group) { return ns + "/" + pod_group; }

using Members = std::map<std::string, PodGroupMember>;  // by pod UID

/// Whether the pod existed when `own` was admitted: admission waits until all pods of the PodGroup have been asked to
/// leave. Creation times are whole seconds.
bool was_asked(const api::Evacuation& own, const api::Pod& pod) {
  const auto& admitted = own.status.started_at;
  return admitted && pod.meta.creation_timestamp < std::chrono::floor<base::seconds>(*admitted);
}

void add_live(Members& members, const api::Evacuation& own, const std::shared_ptr<const api::Pod>& pod) {
  if (pod->meta.uid == own.spec.pod_ref.uid.value || !api::is_active_member(*pod)) return;
  const auto pod_group = api::pod_group_of(*pod);
  members[pod->meta.uid] = {pod->meta.name, pod->meta.uid,       pod_group ? pod_group->order : 0, pod,
                            nullptr,        was_asked(own, *pod)};
}

/// Adds a member whose pod has left or is leaving and that is known only from its Evacuation.
void add_evacuation(Members& members, const api::Evacuation& own, std::shared_ptr<const api::Evacuation> other) {
  const std::string& uid = other->spec.pod_ref.uid.value;
  if (uid.empty() || uid == own.spec.pod_ref.uid.value || !counts_for_pod_group(own, *other)) return;
  PodGroupMember& member = members[uid];
  if (member.uid.empty()) {
    member.pod = other->spec.pod_ref.name;
    member.uid = uid;
  }
  if (!member.evacuation || takes_precedence(*other, *member.evacuation)) member.evacuation = std::move(other);
}

bool same_for_pod_group(const api::Evacuation& a, const api::Evacuation& b) {
  const auto* voted = api::find_condition(a.status.conditions, api::ConditionType::kGroupReady);
  const auto* votes = api::find_condition(b.status.conditions, api::ConditionType::kGroupReady);
  const bool same_vote = (voted ? voted->reason : std::string()) == (votes ? votes->reason : std::string());
  return same_vote && a.status.phase == b.status.phase && a.status.group == b.status.group &&
         a.spec.suspend == b.spec.suspend && a.spec.cancel == b.spec.cancel &&
         a.meta.is_terminating() == b.meta.is_terminating();
}

void add_waiting(const std::string& ns, const std::string& pod_group, const api::ObjectKey* except,
                 const kube::Store<api::Evacuation>& evacuations, std::vector<api::ObjectKey>& keys) {
  if (pod_group.empty()) return;
  const std::size_t before = keys.size();
  for (const auto& each : evacuations.by_index(kEvacuationsByPodGroup, pod_group_key(ns, pod_group))) {
    const api::ObjectKey key = each->meta.key();
    if (is_before_request(each->status.phase) && !(except && key == *except)) keys.push_back(key);
    if (keys.size() - before <= kMaxPodGroup) continue;
    keys.resize(before);  // PodGroup is too large to begin: each member polls at kRefreshWaiting
    return;
  }
}

}  // namespace

void add_pod_group_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods) {
  evacuations.add_index(std::string(kEvacuationsByPodGroup), [](const api::Evacuation& each) {
    const bool none = each.status.group.empty();
    return none ? std::vector<std::string>{} : std::vector{pod_group_key(each.meta.ns, each.status.group)};
  });
  pods.add_index(std::string(kPodsByPodGroup), [](const api::Pod& each) {
    const auto pod_group = api::pod_group_of(each);
    return pod_group ? std::vector{pod_group_key(each.meta.ns, pod_group->name)} : std::vector<std::string>{};
  });
}

PodGroupView look_up_pod_group(const api::Evacuation& own, const api::Pod* pod,
                               const kube::Store<api::Evacuation>& evacuations, const kube::Store<api::Pod>& pods) {
  PodGroupView view;
  const bool here = pod && pod->uid() == own.spec.pod_ref.uid && api::is_active_member(*pod);
  if (!here || own.spec.dry_run || !is_before_request(own.status.phase)) return view;
  const auto declared = api::pod_group_of(*pod);
  if (declared) {
    view.name = declared->name;
    view.order = declared->order;
  }
  if (own.status.attempt > 0) view.name = own.status.group;
  if (view.name.empty()) return view;
  const std::string& ns = own.meta.ns;
  Members members;
  // Attempts that have begun were admitted, which bounds the number of members.
  const bool bounded = own.status.attempt == 0;
  const auto too_large = [&] { return bounded && members.size() >= kMaxPodGroup; };
  for (const auto& each : pods.by_index(kPodsByPodGroup, pod_group_key(ns, view.name))) {
    add_live(members, own, each);
    if ((view.too_large = too_large())) return view;
    for (auto& other : evacuations.by_index(kEvacuationsByPod, ns + "/" + each->meta.name)) {
      if (members.contains(other->spec.pod_ref.uid.value)) add_evacuation(members, own, std::move(other));
    }
  }
  for (auto& other : evacuations.by_index(kEvacuationsByPodGroup, pod_group_key(ns, view.name))) {
    add_evacuation(members, own, std::move(other));
    if ((view.too_large = too_large())) return view;
  }
  for (auto& [uid, member] : members) view.members.push_back(std::move(member));
  return view;
}

std::vector<api::ObjectKey> pod_group_keys_to_wake(const api::Evacuation* before, const api::Evacuation* after,
                                                   const kube::Store<api::Evacuation>& evacuations) {
  std::vector<api::ObjectKey> keys;
  if (before && after && same_for_pod_group(*before, *after)) return keys;
  const api::Evacuation& known = after ? *after : *before;
  const api::ObjectKey own = known.meta.key();
  add_waiting(own.ns, known.status.group, &own, evacuations, keys);
  return keys;
}

std::vector<api::ObjectKey> pod_group_keys_to_wake(const api::Pod& pod,
                                                   const kube::Store<api::Evacuation>& evacuations) {
  std::vector<api::ObjectKey> keys;
  if (const auto pod_group = api::pod_group_of(pod))
    add_waiting(pod.meta.ns, pod_group->name, nullptr, evacuations, keys);
  return keys;
}

}  // namespace controllers::evacuation
