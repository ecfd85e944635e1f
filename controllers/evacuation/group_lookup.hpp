#pragma once

/// Finds the PodGroup of an Evacuation's pod in the caches.

#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "controllers/evacuation/phases/group_view.hpp"
#include "kube/runtime/store.hpp"

namespace controllers::evacuation {

/// Index names; add_pod_group_indexes() makes them. Values: "<namespace>/<PodGroup>".
inline constexpr std::string_view kPodsByPodGroup = "evacuator-pod-group";
inline constexpr std::string_view kEvacuationsByPodGroup = "evacuator-pod-group";
/// REQUIRES: the stores are still empty.
void add_pod_group_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods);

/// The PodGroup that `pod` leaves with while `own` has not asked it to: empty afterwards, for dry runs, and for a pod
/// that is not the one of `own`. An attempt keeps the PodGroup that it began with.
PodGroupView look_up_pod_group(const api::Evacuation& own, const api::Pod* pod,
                               const kube::Store<api::Evacuation>& evacuations, const kube::Store<api::Pod>& pods);

/// Evacuations whose PodGroup sees something else after this change; nullptr: there is none before or after.
std::vector<api::ObjectKey> pod_group_keys_to_wake(const api::Evacuation* before, const api::Evacuation* after,
                                                   const kube::Store<api::Evacuation>& evacuations);
/// The same for a pod that comes, goes or changes its PodGroup.
std::vector<api::ObjectKey> pod_group_keys_to_wake(const api::Pod& pod,
                                                   const kube::Store<api::Evacuation>& evacuations);

}  // namespace controllers::evacuation
