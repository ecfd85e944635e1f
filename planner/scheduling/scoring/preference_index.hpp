#pragma once

#include <span>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// What Preferences asks of a snapshot again and again, worked out once: who has the same owner, whose affinities speak
/// about whom, which nodes have PreferNoSchedule taints. Keeps a reference to the snapshot and holds for its present
/// state.
class PreferenceIndex {
 public:
  explicit PreferenceIndex(const ClusterSnapshot& cluster);

  /// The staying pods of the same ReplicaSet, StatefulSet or ReplicationController of Kubernetes itself, itself
  /// included: kube-scheduler spreads them by itself. Empty: it has no such owner.
  std::span<const PodIndex> siblings(PodIndex pod) const;

  /// Active pods of one namespace with the same labels and affinity: what a term says holds for all of them.
  using Group = std::vector<PodIndex>;
  /// Pods whose required or preferred pod affinity, or preferred anti-affinity, may speak about pods of `ns`, by its
  /// name; and those that choose namespaces by their labels.
  std::span<const Group> affinity_pods_towards(NamespaceIndex ns) const { return by_namespace_[ns]; }
  std::span<const Group> affinity_pods_by_namespace_labels() const { return by_labels_; }

 private:
  void sort_by_owner();
  void add(const Group& group);

  const ClusterSnapshot* cluster_;
  std::vector<PodIndex> by_owner_;        ///< staying pods, by the number of their first owner
  std::vector<std::uint32_t> first_pod_;  ///< by owner: in by_owner_; one entry more than owners
  std::vector<std::vector<Group>> by_namespace_;
  std::vector<Group> by_labels_;
};

}  // namespace scheduling
