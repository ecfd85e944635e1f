#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/core/storage_kinds.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/index_range.hpp"
#include "planner/snapshot/input_problems.hpp"
#include "planner/snapshot/pod_range.hpp"
#include "planner/snapshot/resources.hpp"

namespace scheduling {

using PodIndex = std::uint32_t;
using NamespaceIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffff;
inline constexpr PodIndex kNoPod = 0xffffffff;

/// What a snapshot is made of: lists as an informer's store gives them (by namespace and name; other orders cost a
/// sort). Shared, not copied. Null pointers are skipped.
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

/// Pods that came, went or changed. A pod is known by namespace, name and uid.
struct PodChanges {
  SnapshotInput::List<api::Pod> gone;  ///< in any of their states; taken out first
  SnapshotInput::List<api::Pod> now;   ///< the newest states of those that came or changed
};

/// The cluster at one instant. Only apply() and update_others() change it, so without them safe to share between
/// threads; about 80 bytes per pod beside the shared objects. Nodes are numbered by name. Pods are numbered in the
/// order of their nodes and inside a node by namespace, name and uid; pods that are on no known node come last. A new
/// snapshot leaves no number out; one that was changed does, so that the next pod finds a free one. Namespaces: those
/// with pods by name, then the others. Owners, resources and sets of requests have the numbers in which they were met.
class ClusterSnapshot {
 public:
  explicit ClusterSnapshot(SnapshotInput input, Quantities quantities = Quantities::kSound);
  ClusterSnapshot(const ClusterSnapshot&) = delete;
  ClusterSnapshot& operator=(const ClusterSnapshot&) = delete;

  // --- the next instant, in place (see SnapshotCache). Not while somebody reads; what was derived from the snapshot
  // (an WhatIf, numbers of pods) ends with it. Afterwards it equals one that is made again from the newest objects,
  // pods in the same order, but for the numbers themselves, and keeps no older object alive.
  /// Any changes of pods. Each costs some look-ups; now and then all pods get new numbers. So many that all anew costs
  /// less are taken so.
  /// REQUIRES: no two pods of one namespace, name and uid.
  void apply(PodChanges changes);
  /// All kinds but the pods. False, and nothing happens: nodes came, went or offer other amounts, so make it again.
  bool update_others(const SnapshotInput& now);
  /// Sets of requests that were ever met: grows as pods with other requests come.
  std::size_t request_set_count() const { return request_sets_.size(); }
  /// The same of sets of images.
  std::size_t image_set_count() const { return known_images_.size(); }

  // --- nodes
  std::size_t node_count() const { return nodes_.size(); }
  const api::Node& node(NodeIndex node) const { return *nodes_[node]; }
  std::optional<NodeIndex> find_node(std::string_view name) const;
  /// Ready, not cordoned, and no taint keeps pods off: what can be said of most nodes without a look at the pod.
  bool is_schedulable_by_all(NodeIndex node) const { return schedulable_by_all_[node]; }
  IndexRange nodes() const { return {0, static_cast<NodeIndex>(nodes_.size())}; }

  // --- pods
  std::size_t pod_count() const { return pod_count_; }
  /// All numbers of pods are below this: how long a table by pod must be.
  std::size_t pod_table_size() const { return pods_.size(); }
  const api::Pod& pod(PodIndex pod) const { return *pods_[pod].object; }
  /// Has the pod's object fetched into the caches: for walks in an order that memory does not have, some steps ahead.
  void prefetch(PodIndex pod) const {
    constexpr std::size_t kCacheLine = 64;
    const auto* bytes = reinterpret_cast<const char*>(pods_[pod].object.get());
    for (std::size_t at = 0; at < sizeof(api::Pod); at += kCacheLine) __builtin_prefetch(bytes + at);
  }
  /// The same of what the object keeps elsewhere; a few steps after the object itself.
  void prefetch_parts(PodIndex pod) const {
    const api::Pod& object = *pods_[pod].object;
    __builtin_prefetch(object.meta.name.data());
    __builtin_prefetch(object.meta.uid.data());
    __builtin_prefetch(object.meta.owner_references.address());
    __builtin_prefetch(object.containers.address());
  }
  /// The node that the pod is bound to; kNoNode when none or unknown.
  NodeIndex node_of(PodIndex pod) const { return pods_[pod].node; }
  PodRange pods_on(NodeIndex node) const { return {is_taken_.data(), first_pod_[node], first_pod_[node + 1]}; }
  PodRange pods() const { return {is_taken_.data(), 0, first_pod_.back()}; }
  PodRange unscheduled_pods() const { return {is_taken_.data(), first_pod_[first_pod_.size() - 2], first_pod_.back()}; }
  /// Pods ordered by namespace, name and uid. Made anew.
  std::vector<PodIndex> pods_by_name() const;
  std::optional<PodIndex> find_pod(std::string_view ns, std::string_view name) const;
  /// Effective requests in thousandths, as a new pod of its kind asks for.
  const RequestSet& requests(PodIndex pod) const { return request_sets_[pods_[pod].requests].amounts; }
  /// What the scheduler's scores count of those.
  const ScoredRequests& scored_requests(PodIndex pod) const { return request_sets_[pods_[pod].requests].scored; }
  /// What the pod itself holds of its node: mostly as much, more or less while it is being resized.
  const PodRequests& held(PodIndex pod) const { return request_sets_[pods_[pod].held]; }
  /// The number of that set: pods with equal requests share it.
  std::uint32_t request_set_of(PodIndex pod) const { return pods_[pod].requests; }
  /// Holds resources of its node: neither Succeeded nor Failed.
  bool is_active(PodIndex pod) const { return !pods_[pod].terminal; }
  /// Active and not on its way out.
  bool is_staying(PodIndex pod) const { return !pods_[pod].terminal && !pods_[pod].terminating; }
  base::TimePoint created_at(PodIndex pod) const { return pods_[pod].created; }
  /// A number that pods share whose containers have the same images, in any order.
  std::uint32_t images_of(PodIndex pod) const { return pods_[pod].images; }
  bool is_daemon_set(PodIndex pod) const { return pods_[pod].is_daemon_set; }
  bool is_mirror(PodIndex pod) const { return pods_[pod].is_mirror; }
  /// Containers or sidecars of it ask for ports of the node.
  bool has_host_ports(PodIndex pod) const { return pods_[pod].has_host_ports; }
  /// Pods in any state that carry an ownerReference with the uid of the pod's first owner, itself included; 0 when it
  /// has no owner.
  std::uint32_t siblings(PodIndex pod) const;
  /// The pod's first owner as a number below owner_count(); nullopt: it has none.
  std::optional<std::uint32_t> owner_of(PodIndex pod) const {
    const std::uint32_t owner = pods_[pod].owner;
    return owner == kNoOwner ? std::nullopt : std::optional(owner);
  }
  /// The owner that controls the pod, or else its first one; nullopt: it has none, or that one has no uid.
  std::optional<std::uint32_t> main_owner_of(PodIndex pod) const {
    const std::uint32_t owner = pods_[pod].main_owner;
    return owner == kNoOwner ? std::nullopt : std::optional(owner);
  }
  std::size_t owner_count() const { return owner_pods_.size(); }
  /// The number of an owner that some pod has, the first one or another.
  std::optional<std::uint32_t> find_owner(std::string_view uid) const;
  /// Of those, the ones that are neither terminal nor terminating.
  std::uint32_t living_siblings(PodIndex pod) const;

  // --- namespaces
  std::size_t namespace_count() const { return namespaces_.size(); }
  NamespaceIndex namespace_of(PodIndex pod) const { return pods_[pod].ns; }
  std::optional<NamespaceIndex> find_namespace(std::string_view name) const;
  std::string_view namespace_name(NamespaceIndex ns) const { return namespaces_[ns].name; }
  /// The object, or nullptr when only its contents are known.
  const api::Namespace* namespace_object(NamespaceIndex ns) const { return namespaces_[ns].object; }
  /// In order of name and uid.
  std::span<const PodIndex> pods_in(NamespaceIndex ns) const { return namespaces_[ns].pods; }
  /// Pods of one namespace whose labels are the same: a selector need be asked only once for all of them.
  struct LabelGroup {
    const api::StringMap* labels;
    std::vector<PodIndex> pods;  ///< in order of name
  };
  /// In the order in which the namespace's pods by name show them.
  std::span<const LabelGroup> label_groups(NamespaceIndex ns) const { return namespaces_[ns].groups; }
  /// The number of the pod's group, over all namespaces.
  std::uint32_t label_group_of(PodIndex pod) const { return namespaces_[pods_[pod].ns].first_group + pods_[pod].group; }
  /// Budgets of the namespace, as positions in pdbs().
  std::span<const std::uint32_t> pdbs_in(NamespaceIndex ns) const { return namespaces_[ns].pdbs; }
  const SnapshotInput::List<api::PodDisruptionBudget>& pdbs() const { return pdbs_; }

  // --- the rest
  const ResourceNames& resources() const { return resources_; }
  /// status.allocatable in thousandths.
  const NodeResources& allocatable() const { return allocatable_; }
  /// Sum of what the active pods hold; "pods" is their number (in thousandths, as everything).
  const NodeResources& used() const { return used_; }
  /// The same, as the scheduler's scores count.
  const ScoredSums& scored() const { return scored_; }
  const api::PriorityClass* find_priority_class(std::string_view name) const;
  const api::PersistentVolumeClaim* find_claim(std::string_view ns, std::string_view name) const;
  const api::PersistentVolume* find_volume(std::string_view name) const;
  const api::Workload* find_workload(std::string_view uid) const;
  const api::StorageClass* find_storage_class(std::string_view name) const;
  /// The one that claims get which name none; nullptr: there is none.
  const api::StorageClass* default_storage_class() const;
  /// False: nobody listed them (a dump of pods and nodes), so nothing can be said about classes.
  bool has_storage_classes() const { return !storage_classes_.empty(); }
  const api::CsiNode* find_csi_node(std::string_view node) const;
  const api::ResourceClaim* find_resource_claim(std::string_view ns, std::string_view name) const;
  const api::SchedulingPodGroup* find_pod_group(std::string_view ns, std::string_view name) const;
  /// Those of the node, in order of name.
  std::span<const api::VolumeAttachment* const> attachments_on(NodeIndex node) const {
    return attachments_.empty() ? std::span<const api::VolumeAttachment* const>() : attachments_[node];
  }
  const api::CsiDriver* find_csi_driver(std::string_view name) const;
  const SnapshotInput::List<api::CsiStorageCapacity>& storage_capacities() const { return storage_capacities_; }
  /// Volumes that no claim has taken, of the class.
  std::span<const api::PersistentVolume* const> free_volumes(std::string_view storage_class) const;
  /// Volumes that name the claim, by name alone or also by `uid`.
  std::vector<const api::PersistentVolume*> volumes_kept_for(const api::ObjectKey& claim, std::string_view uid) const;
  /// False: nobody listed them, so nothing can be said about one that is missing.
  bool has_volumes() const { return !volumes_.empty(); }
  /// What is strange about the objects.
  const InputProblems& problems() const { return problems_; }
  /// Some object stands here otherwise than it was written: with Quantities::kAsWritten it would not.
  bool fixed_quantities() const { return fixed_; }
  /// Active pods of one namespace with the same labels and the same required anti-affinity, at least one: what holds
  /// for a term of one of them holds for all.
  using AntiAffineGroup = std::vector<PodIndex>;
  /// Those with a term that speaks about pods of `ns` by that namespace's name.
  std::span<const AntiAffineGroup> anti_affine_towards(NamespaceIndex ns) const { return namespaces_[ns].anti_affine; }
  /// Those with a term that chooses namespaces by their labels.
  std::span<const AntiAffineGroup> anti_affine_by_namespace_labels() const { return anti_affine_by_labels_; }
  /// Pods whose affinity moves the scheduler's scores for others: with a required or preferred pod affinity, or a
  /// preferred anti-affinity.
  std::span<const PodIndex> affinity_pods() const { return affinity_pods_; }

 private:
  class Update;
  /// One cache line.
  struct PodEntry {
    std::shared_ptr<const api::Pod> object;
    base::TimePoint created;
    NodeIndex node = kNoNode;
    NamespaceIndex ns = 0;
    std::uint32_t group = 0;  ///< of labels, among those of its namespace
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
    std::vector<PodIndex> pods;              ///< by name
    std::vector<LabelGroup> groups;          ///< by their first pods
    std::vector<LabelStorage> group_labels;  ///< what the labels of each group share
    std::uint32_t first_group = 0;           ///< the number of the first one over all namespaces
  };
  static constexpr std::uint32_t kNoOwner = 0xffffffff;

  struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename Value>
  using ByString = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;
  struct InOrder {
    bool operator()(const std::shared_ptr<const api::Pod>& a, const std::shared_ptr<const api::Pod>& b) const;
  };

  void take_nodes(SnapshotInput::List<api::Node> nodes);
  bool take_states(const SnapshotInput::List<api::Node>& nodes);
  void find_schedulable_nodes();
  void take_workloads(SnapshotInput::List<api::Workload> workloads);
  void sort_attachments();
  void sort_volumes();
  NamespaceIndex intern_namespace(std::string_view name);

  SnapshotInput::List<api::Node> given_nodes_;
  SnapshotInput::List<api::Node> nodes_;
  SnapshotInput::List<api::PodDisruptionBudget> pdbs_;
  SnapshotInput::List<api::Namespace> namespace_objects_;
  SnapshotInput::List<api::PriorityClass> priority_classes_;
  SnapshotInput::List<api::PersistentVolumeClaim> claims_;
  SnapshotInput::List<api::PersistentVolume> volumes_;
  SnapshotInput::List<api::Workload> workloads_;
  SnapshotInput::List<api::StorageClass> storage_classes_;
  SnapshotInput::List<api::CsiNode> csi_nodes_;
  SnapshotInput::List<api::ResourceClaim> resource_claims_;
  SnapshotInput::List<api::SchedulingPodGroup> pod_groups_;
  SnapshotInput::List<api::VolumeAttachment> volume_attachments_;
  SnapshotInput::List<api::CsiDriver> csi_drivers_;
  SnapshotInput::List<api::CsiStorageCapacity> storage_capacities_;
  std::vector<std::vector<const api::VolumeAttachment*>> attachments_;  ///< by node; empty: there are none

  using VolumesByText = ByString<std::vector<const api::PersistentVolume*>>;
  VolumesByText free_volumes_;  ///< by storage class
  VolumesByText kept_volumes_;  ///< by their claim, as ObjectKey writes it

  std::vector<bool> schedulable_by_all_;  ///< by node
  std::vector<PodEntry> pods_;            ///< by number; those that no pod has are empty
  std::vector<std::uint8_t> is_taken_;    ///< by number: 1 where a pod has it
  std::size_t pod_count_ = 0;
  /// The first number of each node, of the pods without one, and the end: node_count() + 2 entries.
  std::vector<PodIndex> first_pod_;
  std::vector<AntiAffineGroup> anti_affine_by_labels_;
  std::vector<PodIndex> affinity_pods_;
  std::vector<NamespaceEntry> namespaces_;
  std::uint32_t namespaces_with_pods_ = 0;  ///< the first ones, by name
  std::vector<std::uint32_t> owner_pods_;
  std::vector<std::uint32_t> living_owner_pods_;
  std::vector<std::uint32_t> free_owners_;  ///< numbers of owners whose pods are gone
  std::vector<PodRequests> request_sets_;
  Quantities quantities_;
  std::multiset<std::shared_ptr<const api::Pod>, InOrder> strange_;  ///< pods among the problems, as they were given
  std::set<std::shared_ptr<const api::Pod>, InOrder> crowded_;       ///< pods whose terms are beyond a bound, with them
  struct TermUser {
    const api::Affinity* affinity;
    const char* ns;       ///< the text of its name
    LabelStorage labels;  ///< nullptr: no term compares labels
    friend bool operator==(const TermUser&, const TermUser&) = default;
  };
  struct TermUserHash {
    std::size_t operator()(const TermUser& each) const {
      const std::hash<const void*> hash;
      return hash(each.affinity) ^ (hash(each.ns) << 1) ^ (hash(each.labels) << 2);
    }
  };
  /// Number of active pods; without those in crowded_.
  std::unordered_map<TermUser, std::int64_t, TermUserHash> term_users_;
  std::int64_t terms_ = 0;          ///< weight of pod affinity terms, each of those once
  std::int64_t foreign_terms_ = 0;  ///< those that speak about other namespaces
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
  ByString<std::uint32_t> known_images_;                                        ///< numbers by the images in order
  std::unordered_map<std::string_view, const api::Workload*> workload_by_uid_;  ///< keys view workloads_
  struct RequestSetHash {
    std::size_t operator()(const PodRequests& set) const;
  };
  std::unordered_map<PodRequests, std::uint32_t, RequestSetHash> known_requests_;
};

}  // namespace scheduling
