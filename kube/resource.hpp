#pragma once

#include <string>
#include <string_view>

#include "api/meta/object_meta.hpp"

namespace kube {

/// Kind of object as served by the API. The constants below are all the kinds that Evacuator uses, except for
/// KubeVirt's.
struct ResourceType {
  std::string_view group;  ///< "" for the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = true;

  /// Returns "v1" or "group/version".
  std::string api_version() const;
  friend bool operator==(const ResourceType&, const ResourceType&) = default;
};

inline constexpr ResourceType kPods{"", "v1", "pods", "Pod"};
inline constexpr ResourceType kNodes{"", "v1", "nodes", "Node", false};
inline constexpr ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr ResourceType kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};
inline constexpr ResourceType kPersistentVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};
inline constexpr ResourceType kStorageClasses{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false};
inline constexpr ResourceType kCsiNodes{"storage.k8s.io", "v1", "csinodes", "CSINode", false};
inline constexpr ResourceType kVolumeAttachments{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment",
                                                 false};
inline constexpr ResourceType kCsiDrivers{"storage.k8s.io", "v1", "csidrivers", "CSIDriver", false};
/// v1 since Kubernetes 1.24.
inline constexpr ResourceType kCsiStorageCapacities{"storage.k8s.io", "v1", "csistoragecapacities",
                                                    "CSIStorageCapacity"};
/// Dynamic resource allocation; see Discovery::resource_claims for the version.
inline constexpr ResourceType kResourceClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"};
inline constexpr ResourceType kResourceClaimsV1beta2{"resource.k8s.io", "v1beta2", "resourceclaims", "ResourceClaim"};
inline constexpr ResourceType kResourceClaimsV1beta1{"resource.k8s.io", "v1beta1", "resourceclaims", "ResourceClaim"};
inline constexpr ResourceType kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false};
/// Workload-aware scheduling; see Discovery::pod_groups for the version.
inline constexpr ResourceType kPodGroups{"scheduling.k8s.io", "v1alpha3", "podgroups", "PodGroup"};
inline constexpr ResourceType kPodGroupsV1alpha2{"scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup"};
inline constexpr ResourceType kPdbs{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};
inline constexpr ResourceType kPdbsV1beta1{"policy", "v1beta1", "poddisruptionbudgets", "PodDisruptionBudget"};
inline constexpr ResourceType kDeployments{"apps", "v1", "deployments", "Deployment"};
inline constexpr ResourceType kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet"};
inline constexpr ResourceType kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet"};
inline constexpr ResourceType kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet"};
inline constexpr ResourceType kJobs{"batch", "v1", "jobs", "Job"};
inline constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr ResourceType kEvents{"events.k8s.io", "v1", "events", "Event"};
inline constexpr ResourceType kEvacuations{"evacuator.dev", "v1alpha1", "evacuations", "Evacuation"};
inline constexpr ResourceType kResourceAdvices{"evacuator.dev", "v1alpha1", "resourceadvices", "ResourceAdvice"};
inline constexpr ResourceType kPolicies{"evacuator.dev", "v1alpha1", "deschedulerpolicies", "DeschedulerPolicy", false};
/// KEP-4563. Not to be confused with policy/v1's Eviction, which is only the body of a call.
inline constexpr ResourceType kEvictionRequests{"lifecycle.k8s.io", "v1alpha1", "evictionrequests", "EvictionRequest"};
inline constexpr ResourceType kNativeEvictions{"lifecycle.k8s.io", "v1alpha1", "evictions", "Eviction"};

/// Returns "/api/v1/namespaces/shop/pods/web-1". An empty name gives the collection, an empty namespace all namespaces.
/// Appends `subresource` unless empty: "status", "eviction". Segments are percent-encoded.
std::string path_of(const ResourceType& type, const api::ObjectKey& key, std::string_view subresource = {});

}  // namespace kube
