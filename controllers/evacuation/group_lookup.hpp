#pragma once

/// Finds the PodGroup of an Evacuation's pod in the caches.

#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "controllers/evacuation/phases/group_view.hpp"
#include "kube/runtime/store.hpp"

namespace controllers::evacuation {

/// Index names, created by add_pod_group_indexes(). Index values: "<namespace>/<PodGroup>".
inline constexpr std::string_view kPodsByPodGroup = "evacuator-pod-group";
inline constexpr std::string_view kEvacuationsByPodGroup = "evacuator-pod-group";
/// REQUIRES: the stores are still empty.
void add_pod_group_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods);

/// Returns the PodGroup that `pod` leaves with, until `own` requests the eviction. Returns an empty view after that,
/// for dry runs, and if `pod` is not the pod of `own`. An attempt keeps the PodGroup that it began with.
PodGroupView look_up_pod_group(const api::Evacuation& own, const api::Pod* pod,
                               const kube::Store<api::Evacuation>& evacuations, const kube::Store<api::Pod>& pods);

/// Evacuations whose view of their PodGroup changes with this cache event. nullptr: absent before or after the event.
std::vector<api::ObjectKey> pod_group_keys_to_wake(const api::Evacuation* before, const api::Evacuation* after,
                                                   const kube::Store<api::Evacuation>& evacuations);
/// Evacuations whose view of their PodGroup changes because `pod` is added, is deleted or changes its PodGroup.
std::vector<api::ObjectKey> pod_group_keys_to_wake(const api::Pod& pod,
                                                   const kube::Store<api::Evacuation>& evacuations);

}  // namespace controllers::evacuation
