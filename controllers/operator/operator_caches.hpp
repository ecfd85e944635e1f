#pragma once

/// What the operator knows of the cluster; internal to operator.cpp.

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
#include "controllers/policy/decide.hpp"
#include "kube/client.hpp"
#include "kube/runtime/informer.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace controllers {

/// A cache that has not heard from the server for this long is stale: nothing new is planned on it. In contact its age
/// stays below three minutes.
inline constexpr base::minutes kCacheStaleAfter{5};

/// The caches, each with the kind that it follows.
struct OperatorCaches {
  /// All references must outlive them. `clock` should be a steady one.
  OperatorCaches(kube::Client& client, const base::Clock& clock, const kube::Discovery& discovery,
                 const base::Log& log);

  struct Named {
    const char* name;
    kube::Reflector* reflector;
    /// Decisions can do without, and this is what they then do: a server that refuses the list (an older role, no such
    /// API) does not stop the operator. nullptr: they cannot.
    const char* without = nullptr;
    std::function<std::size_t()> size = {};  ///< objects in it; may be empty

    bool is_settled() const { return reflector->has_synced() || refusal(); }
    /// Why there is nothing to wait for.
    std::optional<base::Error> refusal() const;
    /// How long ago it heard from the server; nullopt: there is nothing to wait for, so that no age alarms anybody.
    std::optional<base::Duration> contact_age() const;
    /// It was filled, and has not heard from the server for kCacheStaleAfter: says so, with the last error.
    std::optional<std::string> staleness() const;
  };
  std::vector<Named> all();

  /// Which kinds plans have to do without, and what that means, with the server's answer about the first: one note, so
  /// that none of them is left out of a condition that shows only a few.
  std::vector<std::string> unknown();
  /// Which kinds are stale. The same as long as the same is wrong.
  std::vector<std::string> stale();

  scheduling::SnapshotInput snapshot() const;

  /// spec.replicas of the kinds that keep a number of pods.
  std::optional<std::int32_t> replicas_of(const std::string& ns, const api::OwnerReference& owner) const;

  std::shared_ptr<kube::StreamedLists> streamed_lists;  ///< of Kubernetes' own kinds
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
  std::optional<kube::Informer<api::ResourceClaim>> resource_claims;  ///< only where the server has them
  std::optional<kube::Informer<api::SchedulingPodGroup>> pod_groups;  ///< the same
  kube::Informer<api::Evacuation> evacuations;
  kube::Informer<ObservedPolicy> policies;
};

}  // namespace controllers
