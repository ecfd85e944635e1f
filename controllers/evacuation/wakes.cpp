/// Whom to enqueue when something else than an Evacuation changed.

#include "controllers/evacuation/group_lookup.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers::evacuation {
namespace {

std::string pod_index_key(const std::string& ns, const std::string& name) { return ns + "/" + name; }

}  // namespace

std::string owner_index_key(const std::string& ns, const api::OwnerReference& owner) { return ns + "/" + owner.uid; }

void add_evacuation_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods,
                            kube::Store<api::PodDisruptionBudget>& pdbs) {
  evacuations.add_index(std::string(kEvacuationsByPod), [](const api::Evacuation& each) {
    return std::vector{pod_index_key(each.meta.ns, each.spec.pod_ref.name)};
  });
  evacuations.add_index(std::string(kEvacuationsByOwner), [](const api::Evacuation& each) {
    const auto& owner = each.status.pod_owner;
    return owner ? std::vector{owner_index_key(each.meta.ns, *owner)} : std::vector<std::string>{};
  });
  pods.add_index(std::string(kPodsByOwner), [](const api::Pod& each) {
    const auto* owner = each.meta.controller();
    return owner ? std::vector{owner_index_key(each.meta.ns, *owner)} : std::vector<std::string>{};
  });
  add_pod_group_indexes(evacuations, pods);
  pdbs.add_index(std::string(kPdbsByNamespace),
                 [](const api::PodDisruptionBudget& each) { return std::vector{each.meta.ns}; });
}

std::vector<api::ObjectKey> Reconciler::keys_for_pod(const api::Pod& pod) const {
  std::vector<api::ObjectKey> keys;
  for (const auto& each : deps_.evacuations.by_index(kEvacuationsByPod, pod_index_key(pod.meta.ns, pod.meta.name))) {
    keys.push_back(each->meta.key());
  }
  for (api::ObjectKey& key : pod_group_keys_to_wake(pod, deps_.evacuations)) keys.push_back(std::move(key));
  const api::OwnerReference* owner = pod.meta.controller();
  if (!owner) return keys;
  for (const auto& each : deps_.evacuations.by_index(kEvacuationsByOwner, owner_index_key(pod.meta.ns, *owner))) {
    if (each->status.phase == api::EvacuationPhase::kVerifying) keys.push_back(each->meta.key());
  }
  return keys;
}

std::vector<api::ObjectKey> Reconciler::keys_for_pod_group(const api::Evacuation* before,
                                                           const api::Evacuation* after) const {
  return pod_group_keys_to_wake(before, after, deps_.evacuations);
}

std::vector<api::ObjectKey> Reconciler::on_pdb_changed(const api::PodDisruptionBudget* before,
                                                       const api::PodDisruptionBudget* after) {
  const std::int32_t had = before ? before->disruptions_allowed : 0;
  const bool gone = after == nullptr;
  if (!gone && after->disruptions_allowed <= had) return {};
  return pdb_waiters_.wake((gone ? before : after)->meta.key(),
                           gone ? std::nullopt : std::optional(after->disruptions_allowed));
}

}  // namespace controllers::evacuation
