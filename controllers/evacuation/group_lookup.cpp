#include "controllers/evacuation/group_lookup.hpp"

#include <map>

#include "api/gang.hpp"
#include "api/meta/condition.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers {
namespace {

using api::EvacuationPhase;

std::string gang_key(const std::string& ns, const std::string& gang) { return ns + "/" + gang; }

/// Before the call is made the gang matters, and never again.
bool still_matters(EvacuationPhase phase) {
  return phase == EvacuationPhase::kPending || phase == EvacuationPhase::kPreparing ||
         phase == EvacuationPhase::kBackoff;
}

using Members = std::map<std::string, GangMember>;  // by pod UID

/// Nobody is admitted before all pods of the gang are asked to leave; creation times are whole seconds.
bool was_asked(const api::Evacuation& own, const api::Pod& pod) {
  const auto& admitted = own.status.started_at;
  return admitted && pod.meta.creation_timestamp < std::chrono::floor<base::seconds>(*admitted);
}

void add_live(Members& members, const api::Evacuation& own, const std::shared_ptr<const api::Pod>& pod) {
  if (pod->meta.uid == own.spec.pod_ref.uid.value || !api::counts_in_gang(*pod)) return;
  const auto gang = api::gang_of(*pod);
  members[pod->meta.uid] = {pod->meta.name, pod->meta.uid, gang ? gang->order : 0, pod, nullptr, was_asked(own, *pod)};
}

/// Who is known only by its Evacuation has left or is leaving: it matters until that is over.
void add_evacuation(Members& members, const api::Evacuation& own, std::shared_ptr<const api::Evacuation> other) {
  const std::string& uid = other->spec.pod_ref.uid.value;
  if (uid.empty() || uid == own.spec.pod_ref.uid.value || !counts_for_gang(own, *other)) return;
  GangMember& member = members[uid];
  if (member.uid.empty()) {
    member.pod = other->spec.pod_ref.name;
    member.uid = uid;
  }
  if (!member.evacuation || tells_more(*other, *member.evacuation)) member.evacuation = std::move(other);
}

bool same_for_gang(const api::Evacuation& a, const api::Evacuation& b) {
  const auto* voted = api::find_condition(a.status.conditions, kGroupReady);
  const auto* votes = api::find_condition(b.status.conditions, kGroupReady);
  const bool same_vote = (voted ? voted->reason : std::string()) == (votes ? votes->reason : std::string());
  return same_vote && a.status.phase == b.status.phase && a.status.group == b.status.group &&
         a.spec.suspend == b.spec.suspend && a.spec.cancel == b.spec.cancel &&
         a.meta.is_terminating() == b.meta.is_terminating();
}

void add_waiting(const std::string& ns, const std::string& gang, const api::ObjectKey* except,
                 const kube::Store<api::Evacuation>& evacuations, std::vector<api::ObjectKey>& keys) {
  if (gang.empty()) return;
  for (const auto& each : evacuations.by_index(kEvacuationsByGang, gang_key(ns, gang))) {
    const api::ObjectKey key = each->meta.key();
    if (still_matters(each->status.phase) && !(except && key == *except)) keys.push_back(key);
  }
}

}  // namespace

void add_gang_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods) {
  evacuations.add_index(std::string(kEvacuationsByGang), [](const api::Evacuation& each) {
    const bool none = each.status.group.empty();
    return none ? std::vector<std::string>{} : std::vector{gang_key(each.meta.ns, each.status.group)};
  });
  pods.add_index(std::string(kPodsByGang), [](const api::Pod& each) {
    const auto gang = api::gang_of(each);
    return gang ? std::vector{gang_key(each.meta.ns, gang->name)} : std::vector<std::string>{};
  });
}

GangView look_up_gang(const api::Evacuation& own, const api::Pod* pod, const kube::Store<api::Evacuation>& evacuations,
                      const kube::Store<api::Pod>& pods) {
  GangView view;
  const bool here = pod && pod->uid() == own.spec.pod_ref.uid && api::counts_in_gang(*pod);
  if (!here || own.spec.dry_run || !still_matters(own.status.phase)) return view;
  const auto declared = api::gang_of(*pod);
  if (declared) {
    view.name = declared->name;
    view.order = declared->order;
  }
  if (own.status.attempt > 0) view.name = own.status.group;
  if (view.name.empty()) return view;
  const std::string& ns = own.meta.ns;
  Members members;
  for (const auto& each : pods.by_index(kPodsByGang, gang_key(ns, view.name))) {
    add_live(members, own, each);
    for (auto& other : evacuations.by_index(kEvacuationsByPod, ns + "/" + each->meta.name)) {
      if (members.contains(other->spec.pod_ref.uid.value)) add_evacuation(members, own, std::move(other));
    }
  }
  for (auto& other : evacuations.by_index(kEvacuationsByGang, gang_key(ns, view.name)))
    add_evacuation(members, own, std::move(other));
  for (auto& [uid, member] : members) view.members.push_back(std::move(member));
  return view;
}

std::vector<api::ObjectKey> gang_keys_to_wake(const api::Evacuation* before, const api::Evacuation* after,
                                              const kube::Store<api::Evacuation>& evacuations) {
  std::vector<api::ObjectKey> keys;
  if (before && after && same_for_gang(*before, *after)) return keys;
  const api::Evacuation& known = after ? *after : *before;
  const api::ObjectKey own = known.meta.key();
  add_waiting(own.ns, known.status.group, &own, evacuations, keys);
  return keys;
}

std::vector<api::ObjectKey> gang_keys_to_wake(const api::Pod& pod, const kube::Store<api::Evacuation>& evacuations) {
  std::vector<api::ObjectKey> keys;
  if (const auto gang = api::gang_of(pod)) add_waiting(pod.meta.ns, gang->name, nullptr, evacuations, keys);
  return keys;
}

}  // namespace controllers
