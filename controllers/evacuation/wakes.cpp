/// Selects the Evacuations to enqueue when another object changes.

#include <algorithm>
#include <tuple>

#include "api/core/pvc_risk.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/evacuation/emptied_nodes.hpp"
#include "controllers/evacuation/group_lookup.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers::evacuation {
namespace {

std::string pod_index_key(const std::string& ns, const std::string& name) { return ns + "/" + name; }

std::vector<std::string> claims_of(const api::Pod& pod) {
  std::vector<std::string> claims;
  for (const api::Volume& volume : pod.volumes) {
    if (api::uses_claim(volume) && !volume.source.empty()) claims.push_back(pod.meta.ns + "/" + volume.source);
  }
  return claims;
}

/// Delay per Evacuation woken later. Bounds the CPU share of these wakes to a few percent.
constexpr base::milliseconds kDelayPerKey{5};
constexpr base::seconds kMinDelay{2};

using Evacuations = std::vector<std::shared_ptr<const api::Evacuation>>;

/// Whether `pod` is the replacement of the Evacuation or was created for it (placement mark).
bool is_tied_to(const api::Evacuation& evacuation, const api::Pod& pod) {
  const auto& outcome = evacuation.status.outcome;
  if (outcome && outcome->replacement && outcome->replacement->uid == pod.meta.uid) return true;
  const std::string* mark = pod.meta.annotations.find(api::well_known::kPlacementAnnotation);
  return mark != nullptr && evacuation.spec.placement && *mark == api::placement_mark(evacuation);
}

/// Verifying Evacuations of the pod's owner with is_tied_to() == `tied`, oldest first.
Evacuations verifying_beside(const api::Pod& pod, const kube::Store<api::Evacuation>& evacuations, bool tied) {
  Evacuations found;
  const api::OwnerReference* owner = pod.meta.controller();
  if (!owner) return found;
  for (auto& each : evacuations.by_index(kEvacuationsByOwner, owner_index_key(pod.meta.ns, *owner))) {
    if (each->status.phase == api::EvacuationPhase::kVerifying && is_tied_to(*each, pod) == tied)
      found.push_back(std::move(each));
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return std::tie(a->status.attempt_started_at, a->meta.name) < std::tie(b->status.attempt_started_at, b->meta.name);
  });
  return found;
}

void add_keys(const Evacuations& evacuations, std::size_t first, std::size_t last, std::vector<api::ObjectKey>& keys) {
  for (std::size_t i = first; i < std::min(last, evacuations.size()); ++i) keys.push_back(evacuations[i]->meta.key());
}

bool is_at_risk(const api::PersistentVolumeClaim& claim) {
  return claim.meta.is_terminating() || claim.volume_name == api::kLostVolume;
}

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
  evacuations.add_index(std::string(kEvacuationsByPlan), [](const api::Evacuation& each) {
    std::string key = plan_index_key(each);
    return key.empty() ? std::vector<std::string>{} : std::vector{std::move(key)};
  });
  pods.add_index(std::string(kPodsByOwner), [](const api::Pod& each) {
    const auto* owner = each.meta.controller();
    return owner ? std::vector{owner_index_key(each.meta.ns, *owner)} : std::vector<std::string>{};
  });
  pods.add_index(std::string(kPodsByClaim), claims_of);
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
  const Evacuations tied = verifying_beside(pod, deps_.evacuations, true);
  add_keys(tied, 0, tied.size(), keys);
  add_keys(verifying_beside(pod, deps_.evacuations, false), 0, kMaxWokenAtOnce, keys);
  return keys;
}

Reconciler::LaterKeys Reconciler::later_keys_for_pod(const api::Pod& pod) const {
  const Evacuations waiting = verifying_beside(pod, deps_.evacuations, false);
  LaterKeys later;
  add_keys(waiting, kMaxWokenAtOnce, waiting.size(), later.keys);
  later.delay = std::max<base::Duration>(kMinDelay, kDelayPerKey * static_cast<std::int64_t>(later.keys.size()));
  return later;
}

std::vector<api::ObjectKey> Reconciler::keys_for_pod_group(const api::Evacuation* before,
                                                           const api::Evacuation* after) const {
  return pod_group_keys_to_wake(before, after, deps_.evacuations);
}

std::vector<api::ObjectKey> Reconciler::on_pvc_changed(const api::PersistentVolumeClaim* before,
                                                       const api::PersistentVolumeClaim* after) const {
  if (!after || !is_at_risk(*after) || (before && is_at_risk(*before))) return {};
  std::vector<api::ObjectKey> keys;
  for (const auto& pod : deps_.pods.by_index(kPodsByClaim, after->meta.ns + "/" + after->meta.name)) {
    const std::string of_pod = pod_index_key(pod->meta.ns, pod->meta.name);
    for (const auto& each : deps_.evacuations.by_index(kEvacuationsByPod, of_pod)) keys.push_back(each->meta.key());
  }
  return keys;
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
