#pragma once

#include <span>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Indexes of a snapshot that Preferences uses repeatedly: pods with the same owner, and pods whose affinity may select
/// pods of a namespace. Keeps a reference to the snapshot and describes its current state.
class PreferenceIndex {
 public:
  explicit PreferenceIndex(const ClusterSnapshot& cluster);

  /// Staying pods, including this one, of the pod's ReplicaSet, StatefulSet or ReplicationController, which
  /// kube-scheduler spreads by default. Empty if the pod has no such owner. Only controllers of Kubernetes itself
  /// count.
  std::span<const PodIndex> siblings(PodIndex pod) const;

  /// Active pods of one namespace with equal labels and affinity. A result for a term of one holds for all of them.
  using Group = std::vector<PodIndex>;
  /// Pods with a required or preferred pod affinity, or a preferred anti-affinity, that may select pods of `ns` by name
  /// (affinity_pods_towards) or select namespaces by labels (affinity_pods_by_namespace_labels).
  std::span<const Group> affinity_pods_towards(NamespaceIndex ns) const { return by_namespace_[ns]; }
  std::span<const Group> affinity_pods_by_namespace_labels() const { return by_labels_; }

 private:
  void sort_by_owner();
  void add(const Group& group);

  const ClusterSnapshot* cluster_;
  std::vector<PodIndex> by_owner_;  ///< staying pods, ordered by first owner
  /// Indexed by owner: its first position in by_owner_; owner_count() + 1 entries.
  std::vector<std::uint32_t> first_pod_;
  std::vector<std::vector<Group>> by_namespace_;
  std::vector<Group> by_labels_;
};

}  // namespace scheduling
