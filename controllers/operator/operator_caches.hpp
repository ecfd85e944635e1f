#pragma once

/// Caches of cluster objects; internal to the operator.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/core/storage_kinds.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "kube/runtime/informer.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace controllers {

struct ObservedPolicy;

/// A cache without contact to the server for this time is stale, and no new cycle is planned on it. The contact age of
/// a connected cache stays below three minutes.
inline constexpr base::minutes kCacheStaleAfter{5};

struct OperatorCaches {
  /// All references must outlive the caches. `clock` should be steady.
  OperatorCaches(kube::Client& client, const base::Clock& clock, const kube::Discovery& discovery,
                 const base::Log& log);

  struct Named {
    const char* name;
    kube::Reflector* reflector;
    /// Consequence of planning without this kind. A kind with this text is optional: a server that refuses the list
    /// (an older role, a missing API) does not stop the operator. nullptr if the kind is required.
    const char* without = nullptr;
    std::function<std::size_t()> size = {};  ///< Number of objects in the cache. May be empty.

    bool is_settled() const { return reflector->has_synced() || refusal(); }
    /// Error with which the server refused the list of an optional kind, so that waiting for it is pointless.
    std::optional<base::Error> refusal() const;
    /// Time since the last contact with the server; nullopt if the list was refused, so that no alert fires.
    std::optional<base::Duration> contact_age() const;
    /// Message with the last error if a filled cache had no contact for kCacheStaleAfter; otherwise nullopt.
    std::optional<std::string> staleness() const;
  };
  std::vector<Named> all();

  /// Message about the kinds that plans cannot use and the consequences, with the server's error for the first of
  /// them. One message for all kinds, because a condition shows only a few messages.
  std::vector<std::string> unknown();
  /// Messages about the stale kinds. Stable while the problem is unchanged.
  std::vector<std::string> stale();

  scheduling::SnapshotInput snapshot() const;

  /// Returns spec.replicas of a ReplicaSet or StatefulSet; nullopt for other kinds and unknown owners.
  std::optional<std::int32_t> replicas_of(const std::string& ns, const api::OwnerReference& owner) const;

  std::shared_ptr<kube::StreamedLists> streamed_lists;  ///< Shared by the caches of built-in kinds
  kube::Informer<api::Pod> pods;
  kube::Informer<api::Node> nodes;
  kube::Informer<api::Namespace> namespaces;
  kube::Informer<api::PodDisruptionBudget> pdbs;
  kube::Informer<api::PriorityClass> priority_classes;
  kube::Informer<api::PersistentVolumeClaim> claims;
  kube::Informer<api::PersistentVolume> volumes;
  kube::Informer<api::Workload> replica_sets;
  kube::Informer<api::Workload> stateful_sets;
  kube::Informer<api::Workload> jobs;
  kube::Informer<api::StorageClass> storage_classes;
  kube::Informer<api::CsiNode> csi_nodes;
  kube::Informer<api::VolumeAttachment> volume_attachments;
  kube::Informer<api::CsiDriver> csi_drivers;
  kube::Informer<api::CsiStorageCapacity> storage_capacities;
  std::optional<kube::Informer<api::ResourceClaim>> resource_claims;  ///< Only if the server has the API
  std::optional<kube::Informer<api::SchedulingPodGroup>> pod_groups;  ///< Only if the server has the API
  kube::Informer<api::Evacuation> evacuations;
  kube::Informer<ObservedPolicy> policies;
};

}  // namespace controllers
