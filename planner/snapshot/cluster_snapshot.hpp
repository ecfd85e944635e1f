#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/core/storage_kinds.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/index_range.hpp"
#include "planner/snapshot/input_problems.hpp"
#include "planner/snapshot/object_order.hpp"
#include "planner/snapshot/resources.hpp"

namespace scheduling {

using PodIndex = std::uint32_t;
using NamespaceIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffff;
inline constexpr PodIndex kNoPod = 0xffffffff;

/// Objects from which a snapshot is built. The lists are shared, not copied. Null pointers are skipped. Lists sorted by
/// namespace and name, as informer stores return them, are used as they are; other orders cost a sort.
struct SnapshotInput {
  template <typename T>
  using List = std::vector<std::shared_ptr<const T>>;

  List<api::Pod> pods;
  List<api::Node> nodes;
  List<api::PodDisruptionBudget> pdbs;
  List<api::Namespace> namespaces;
  List<api::PriorityClass> priority_classes;
  List<api::PersistentVolumeClaim> claims;
  List<api::PersistentVolume> volumes;
  List<api::Workload> workloads;
  List<api::StorageClass> storage_classes;
  List<api::CsiNode> csi_nodes;
  List<api::ResourceClaim> resource_claims;
  List<api::VolumeAttachment> volume_attachments;
  List<api::CsiDriver> csi_drivers;
  List<api::CsiStorageCapacity> storage_capacities;
  List<api::SchedulingPodGroup> pod_groups;
};

/// Pods that were added, removed or changed. Pods are identified by namespace, name and uid.
struct PodChanges {
  SnapshotInput::List<api::Pod> gone;  ///< removed pods, in any of their states; applied first
  SnapshotInput::List<api::Pod> now;   ///< newest states of added and changed pods
};

/// The cluster at one instant. Only apply() and update_others() modify it; otherwise it can be shared between threads.
/// Takes about 80 bytes per pod in addition to the shared objects.
///
/// Nodes are numbered by name. Pods are numbered in the order of their nodes, and within a node by namespace, name and
/// uid; pods on no known node come last. A new snapshot numbers pods consecutively. A modified snapshot has unused
/// numbers, so that new pods can be inserted without renumbering. Namespaces with pods come first, by name, then the
/// others. Owners, resources and request sets are numbered in the order in which they were first seen.
class ClusterSnapshot {
 public:
  explicit ClusterSnapshot(SnapshotInput input, Quantities quantities = Quantities::kSound);
  ClusterSnapshot(const ClusterSnapshot&) = delete;
  ClusterSnapshot& operator=(const ClusterSnapshot&) = delete;

  // --- Updates in place (see SnapshotCache). Callers must ensure that no other thread reads the snapshot meanwhile.
  // Everything derived from the snapshot (WhatIf, pod numbers) becomes invalid. The updated snapshot equals one built
  // from the newest objects, with pods in the same order, except for the pod numbers. It keeps no older object alive.
  /// Applies changes of pods. Each change costs a few look-ups. Pods are renumbered occasionally. A batch for which a
  /// rebuild is cheaper triggers a full rebuild instead. REQUIRES: no two pods have the same namespace, name and uid.
  void apply(PodChanges changes);
  /// Updates all kinds except pods. Returns false and changes nothing if nodes were added or removed or their
  /// allocatable changed; callers must then build a new snapshot.
  bool update_others(const SnapshotInput& now);
  /// Number of request sets seen so far. Grows as pods with new requests arrive; never shrinks.
  std::size_t request_set_count() const { return request_sets_.size(); }
  /// Number of image sets seen so far. Grows as pods with new images arrive; never shrinks.
  std::size_t image_set_count() const { return known_images_.size(); }

  // --- Nodes
  std::size_t node_count() const { return nodes_.size(); }
  const api::Node& node(NodeIndex node) const { return *nodes_[node]; }
  std::optional<NodeIndex> find_node(std::string_view name) const { return number_in(node_by_name_, name); }
  /// Returns true if the node is Ready, not cordoned, and has no taint that repels pods. Lets callers skip checks of
  /// the individual pod on most nodes.
  bool is_schedulable_by_all(NodeIndex node) const { return schedulable_by_all_[node]; }
  IndexRange nodes() const { return {0, static_cast<NodeIndex>(nodes_.size())}; }

  // --- Pods
  std::size_t pod_count() const { return pod_count_; }
  /// Upper bound of all pod numbers, and the size of a table indexed by pod.
  std::size_t pod_table_size() const { return pods_.size(); }
  const api::Pod& pod(PodIndex pod) const { return *pods_[pod].object; }
  /// Prefetches the pod's object into the CPU caches. Call a few steps ahead when pods are visited in an order other
  /// than that of memory.
  void prefetch(PodIndex pod) const {
    constexpr std::size_t kCacheLine = 64;
    const auto* bytes = reinterpret_cast<const char*>(pods_[pod].object.get());
    for (std::size_t at = 0; at < sizeof(api::Pod); at += kCacheLine) __builtin_prefetch(bytes + at);
  }
  /// Prefetches heap data of the pod's object. Call a few steps after prefetch().
  void prefetch_parts(PodIndex pod) const {
    const api::Pod& object = *pods_[pod].object;
    __builtin_prefetch(object.meta.name.data());
    __builtin_prefetch(object.meta.uid.data());
    __builtin_prefetch(object.meta.owner_references.address());
    __builtin_prefetch(object.containers.address());
  }
  /// Returns the node that the pod is bound to, or kNoNode if it is unbound or the node is unknown.
  NodeIndex node_of(PodIndex pod) const { return pods_[pod].node; }
  PodRange pods_on(NodeIndex node) const { return {is_taken_.data(), first_pod_[node], first_pod_[node + 1]}; }
  PodRange pods() const { return {is_taken_.data(), 0, first_pod_.back()}; }
  PodRange unscheduled_pods() const { return {is_taken_.data(), first_pod_[first_pod_.size() - 2], first_pod_.back()}; }
  /// Returns the pods ordered by namespace, name and uid. Builds a new vector on each call.
  std::vector<PodIndex> pods_by_name() const;
  std::optional<PodIndex> find_pod(std::string_view ns, std::string_view name) const;
  /// Effective requests, in thousandths, of a new pod with this spec.
  const RequestSet& requests(PodIndex pod) const { return request_sets_[pods_[pod].requests].amounts; }
  /// The part of requests() that the scheduler's scoring counts.
  const ScoredRequests& scored_requests(PodIndex pod) const { return request_sets_[pods_[pod].requests].scored; }
  /// Resources that the running pod holds on its node. Differs from requests() while the pod is being resized.
  const PodRequests& held(PodIndex pod) const { return request_sets_[pods_[pod].held]; }
  /// Number of the pod's request set. Pods with equal requests share it.
  std::uint32_t request_set_of(PodIndex pod) const { return pods_[pod].requests; }
  /// Returns true if the pod holds resources of its node, that is, its phase is neither Succeeded nor Failed.
  bool is_active(PodIndex pod) const { return !pods_[pod].terminal; }
  /// Returns true if the pod is active and not being deleted.
  bool is_staying(PodIndex pod) const { return !pods_[pod].terminal && !pods_[pod].terminating; }
  base::TimePoint created_at(PodIndex pod) const { return pods_[pod].created; }
  /// Number of the pod's image set. Pods whose containers have the same images, in any order, share it.
  std::uint32_t images_of(PodIndex pod) const { return pods_[pod].images; }
  bool is_daemon_set(PodIndex pod) const { return pods_[pod].is_daemon_set; }
  bool is_mirror(PodIndex pod) const { return pods_[pod].is_mirror; }
  /// Returns true if a container or sidecar of the pod requests host ports.
  bool has_host_ports(PodIndex pod) const { return pods_[pod].has_host_ports; }
  /// Number of pods, in any state and including this one, that have an ownerReference with the uid of this pod's first
  /// owner. Returns 0 if the pod has no owner.
  std::uint32_t siblings(PodIndex pod) const {
    return pods_[pod].owner == kNoOwner ? 0 : owner_pods_[pods_[pod].owner];
  }
  /// Number of the pod's first owner, below owner_count(). Returns nullopt if the pod has no owner.
  std::optional<std::uint32_t> owner_of(PodIndex pod) const { return known_owner(pods_[pod].owner); }
  /// Number of the pod's controller, or of its first owner if no owner is the controller. Returns nullopt if the pod
  /// has no owner or that owner has no uid.
  std::optional<std::uint32_t> main_owner_of(PodIndex pod) const { return known_owner(pods_[pod].main_owner); }
  std::size_t owner_count() const { return owner_pods_.size(); }
  /// Number of the owner with this uid, whatever its position in a pod's ownerReferences. Returns nullopt if no pod has
  /// it.
  std::optional<std::uint32_t> find_owner(std::string_view uid) const { return number_in(owner_by_uid_, uid); }
  /// Number of siblings() that are neither terminal nor terminating.
  std::uint32_t living_siblings(PodIndex pod) const {
    return pods_[pod].owner == kNoOwner ? 0 : living_owner_pods_[pods_[pod].owner];
  }

  // --- Namespaces
  std::size_t namespace_count() const { return namespaces_.size(); }
  NamespaceIndex namespace_of(PodIndex pod) const { return pods_[pod].ns; }
  std::optional<NamespaceIndex> find_namespace(std::string_view name) const {
    return number_in(namespace_by_name_, name);
  }
  std::string_view namespace_name(NamespaceIndex ns) const { return namespaces_[ns].name; }
  /// Returns the Namespace object, or nullptr if the namespace is known only from the objects in it.
  const api::Namespace* namespace_object(NamespaceIndex ns) const { return namespaces_[ns].object; }
  /// Pods of the namespace in order of name and uid.
  std::span<const PodIndex> pods_in(NamespaceIndex ns) const { return namespaces_[ns].pods; }
  /// Pods of one namespace that have equal labels, so that a selector is evaluated once for all of them.
  struct LabelGroup {
    const api::StringMap* labels;
    std::vector<PodIndex> pods;  ///< in order of name
  };
  /// Label groups of the namespace, ordered by their first pods by name.
  std::span<const LabelGroup> label_groups(NamespaceIndex ns) const { return namespaces_[ns].groups; }
  /// Number of the pod's label group, unique over all namespaces.
  std::uint32_t label_group_of(PodIndex pod) const { return namespaces_[pods_[pod].ns].first_group + pods_[pod].group; }
  /// PodDisruptionBudgets of the namespace, as positions in pdbs().
  std::span<const std::uint32_t> pdbs_in(NamespaceIndex ns) const { return namespaces_[ns].pdbs; }
  const SnapshotInput::List<api::PodDisruptionBudget>& pdbs() const { return objects_.pdbs; }

  // --- Other objects
  const ResourceNames& resources() const { return resources_; }
  /// status.allocatable of each node, in thousandths.
  const NodeResources& allocatable() const { return allocatable_; }
  /// Resources held by the active pods of each node, in thousandths. "pods" is the number of active pods, in
  /// thousandths too.
  const NodeResources& used() const { return used_; }
  /// Resources held by the active pods of each node, as the scheduler's scoring counts them.
  const ScoredSums& scored() const { return scored_; }
  const api::PriorityClass* find_priority_class(std::string_view name) const {
    return find_in(objects_.priority_classes, "", name);
  }
  const api::PersistentVolumeClaim* find_claim(std::string_view ns, std::string_view name) const {
    return find_in(objects_.claims, ns, name);
  }
  const api::PersistentVolume* find_volume(std::string_view name) const { return find_in(objects_.volumes, "", name); }
  const api::Workload* find_workload(std::string_view uid) const;
  const api::StorageClass* find_storage_class(std::string_view name) const {
    return find_in(objects_.storage_classes, "", name);
  }
  /// Returns the storage class of claims that name none, or nullptr if there is no default class.
  const api::StorageClass* default_storage_class() const;
  /// Returns false if no storage classes were listed (for example in a dump of pods and nodes). A missing class then
  /// proves nothing.
  bool has_storage_classes() const { return !objects_.storage_classes.empty(); }
  const api::CsiNode* find_csi_node(std::string_view node) const { return find_in(objects_.csi_nodes, "", node); }
  const api::ResourceClaim* find_resource_claim(std::string_view ns, std::string_view name) const {
    return find_in(objects_.resource_claims, ns, name);
  }
  const api::SchedulingPodGroup* find_pod_group(std::string_view ns, std::string_view name) const {
    return find_in(objects_.pod_groups, ns, name);
  }
  /// VolumeAttachments of the node, in order of name.
  std::span<const api::VolumeAttachment* const> attachments_on(NodeIndex node) const {
    return attachments_.empty() ? std::span<const api::VolumeAttachment* const>() : attachments_[node];
  }
  const api::CsiDriver* find_csi_driver(std::string_view name) const { return find_in(objects_.csi_drivers, "", name); }
  const SnapshotInput::List<api::CsiStorageCapacity>& storage_capacities() const { return objects_.storage_capacities; }
  /// PersistentVolumes of the class that are not bound to a claim.
  std::span<const api::PersistentVolume* const> free_volumes(std::string_view storage_class) const;
  /// PersistentVolumes whose claimRef names the claim, with no uid or with `uid`.
  std::vector<const api::PersistentVolume*> volumes_kept_for(const api::ObjectKey& claim, std::string_view uid) const;
  /// Returns false if no PersistentVolumes were listed. A missing volume then proves nothing.
  bool has_volumes() const { return !objects_.volumes.empty(); }
  /// Problems found in the input objects.
  const InputProblems& problems() const { return problems_; }
  /// Returns true if quantities of some object were corrected. Quantities::kAsWritten would then give a different
  /// snapshot.
  bool fixed_quantities() const { return fixed_; }
  /// Active pods of one namespace with equal labels and equal required anti-affinity. Never empty. A result for a term
  /// of one pod holds for all pods of the group.
  using AntiAffineGroup = std::vector<PodIndex>;
  /// Groups with a term that selects the namespace `ns` by name, or by default because it is their own.
  std::span<const AntiAffineGroup> anti_affinity_groups_selecting(NamespaceIndex ns) const {
    return namespaces_[ns].anti_affine;
  }
  /// Groups with a term that selects namespaces by labels.
  std::span<const AntiAffineGroup> anti_affine_by_namespace_labels() const { return anti_affine_by_labels_; }
  /// Pods whose affinity changes the scheduler's scores of other pods: those with a required or preferred pod affinity
  /// or a preferred anti-affinity.
  std::span<const PodIndex> affinity_pods() const { return affinity_pods_; }

 private:
  class Update;
  /// Fits one cache line.
  struct PodEntry {
    std::shared_ptr<const api::Pod> object;
    base::TimePoint created;
    NodeIndex node = kNoNode;
    NamespaceIndex ns = 0;
    std::uint32_t group = 0;  ///< label group, relative to the namespace's first_group
    std::uint32_t requests = 0;
    std::uint32_t held = 0;
    std::uint32_t owner = kNoOwner;
    std::uint32_t main_owner = kNoOwner;
    std::uint32_t images = 0;
    bool terminal = false;
    bool terminating = false;
    bool has_pod_affinity = false;  ///< see affinity_pods()
    bool is_anti_affine = false;    ///< has a required anti-affinity
    bool is_daemon_set = false;
    bool is_mirror = false;
    bool has_host_ports = false;
  };
  using LabelStorage = const api::StringMap::Entry*;
  struct NamespaceEntry {
    std::string_view name;
    const api::Namespace* object = nullptr;
    std::vector<std::uint32_t> pdbs;
    std::vector<AntiAffineGroup> anti_affine;
    std::vector<PodIndex> pods;              ///< in order of name
    std::vector<LabelGroup> groups;          ///< in order of their first pods
    std::vector<LabelStorage> group_labels;  ///< shared label storage of each group
    std::uint32_t first_group = 0;           ///< number of its first group over all namespaces
  };
  static constexpr std::uint32_t kNoOwner = 0xffffffff;

  static std::optional<std::uint32_t> known_owner(std::uint32_t owner) {
    return owner == kNoOwner ? std::nullopt : std::optional(owner);
  }
  struct InOrder {
    bool operator()(const std::shared_ptr<const api::Pod>& a, const std::shared_ptr<const api::Pod>& b) const {
      return comes_before(a->meta, b->meta);
    }
  };

  void take_nodes();
  bool take_states(const SnapshotInput::List<api::Node>& nodes);
  void find_schedulable_nodes();
  void index_workloads();
  void sort_attachments();
  void sort_volumes();
  NamespaceIndex intern_namespace(std::string_view name);

  SnapshotInput objects_;                 ///< sorted; without pods
  SnapshotInput::List<api::Node> nodes_;  ///< objects_.nodes with quantities corrected
  /// Indexed by node; empty if there are no attachments.
  std::vector<std::vector<const api::VolumeAttachment*>> attachments_;

  using VolumesByText = ByString<std::vector<const api::PersistentVolume*>>;
  VolumesByText free_volumes_;  ///< by storage class
  VolumesByText kept_volumes_;  ///< by claim, as ObjectKey formats it

  std::vector<bool> schedulable_by_all_;  ///< indexed by node
  std::vector<PodEntry> pods_;            ///< indexed by pod number; unused numbers have empty entries
  std::vector<std::uint8_t> is_taken_;    ///< indexed by pod number; 1 if a pod has the number
  std::size_t pod_count_ = 0;
  /// First pod number of each node, first number of the pods without a node, and the end: node_count() + 2 entries.
  std::vector<PodIndex> first_pod_;
  std::vector<AntiAffineGroup> anti_affine_by_labels_;
  std::vector<PodIndex> affinity_pods_;
  std::vector<NamespaceEntry> namespaces_;
  std::uint32_t namespaces_with_pods_ = 0;  ///< number of namespaces with pods, which come first
  std::vector<std::uint32_t> owner_pods_;
  std::vector<std::uint32_t> living_owner_pods_;
  std::vector<std::uint32_t> free_owners_;  ///< owner numbers that no pod uses any more
  std::vector<PodRequests> request_sets_;
  Quantities quantities_;
  std::multiset<std::shared_ptr<const api::Pod>, InOrder>
      pods_with_problems_;  ///< pods with input problems, as they were given
  /// Pods whose terms exceed a bound and are ignored, as they were given, with their terms.
  std::set<std::shared_ptr<const api::Pod>, InOrder> pods_beyond_term_limits_;
  /// Affinity; data pointer of the namespace's name, which identifies it; labels, nullptr if no term compares labels.
  using TermUser = std::tuple<const api::Affinity*, const char*, LabelStorage>;
  struct TermUserHash {
    std::size_t operator()(const TermUser& each) const {
      const std::hash<const void*> hash;
      return hash(std::get<0>(each)) ^ (hash(std::get<1>(each)) << 1) ^ (hash(std::get<2>(each)) << 2);
    }
  };
  /// Number of active pods per term user, excluding pods in pods_beyond_term_limits_.
  std::unordered_map<TermUser, std::int64_t, TermUserHash> term_users_;
  std::int64_t terms_ = 0;          ///< total weight of pod affinity terms, once per term user
  std::int64_t foreign_terms_ = 0;  ///< part of terms_ that selects pods of other namespaces
  InputProblems node_problems_;
  InputProblems problems_;
  bool fixed_ = false;
  ResourceNames resources_;
  NodeResources allocatable_;
  NodeResources used_;
  ScoredSums scored_;

  ByString<NodeIndex> node_by_name_;
  ByString<NamespaceIndex> namespace_by_name_;
  ByString<std::uint32_t> owner_by_uid_;
  ByString<std::uint32_t> known_images_;  ///< number of each image set, by its sorted images
  std::unordered_map<std::string_view, const api::Workload*> workload_by_uid_;  ///< keys view objects_.workloads
  struct RequestSetHash {
    std::size_t operator()(const PodRequests& set) const;
  };
  std::unordered_map<PodRequests, std::uint32_t, RequestSetHash> known_requests_;
};

}  // namespace scheduling
