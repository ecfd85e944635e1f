#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "scheduling/snapshot/cluster_snapshot.hpp"
#include "scheduling/snapshot/namespace_labels.hpp"

namespace scheduling {

/// What selectors say about a snapshot's pods, found out once for all pods of a namespace with the same labels. Holds
/// for the snapshot as it is now, wherever its pods are moved. Not thread-safe, reading included: it remembers.
class SelectorCache {
 public:
  /// Keeps a reference.
  explicit SelectorCache(const ClusterSnapshot& cluster)
      : cluster_(cluster),
        found_anti_affinity_terms_(cluster.namespace_count(), false),
        capacity_(kCapacityPerPod * cluster.pod_count()) {}

  using Pods = std::vector<PodIndex>;

  /// The labels of the namespace's pods, to be asked by selector. Valid as long as this object.
  const NamespaceLabels& labels_in(NamespaceIndex ns);

  /// The active pods, with `owner` itself, that its term speaks about. Valid until the next call. REQUIRES: the term
  /// lives as long as this object; a pod's own does.
  const Pods& covered_by(const api::PodAffinityTerm& term, PodIndex owner);
  /// The staying pods, with `owner` itself, that its constraint counts. Valid until the next call. REQUIRES: as above.
  const Pods& counted_by(const api::TopologySpreadConstraint& constraint, PodIndex owner);

  /// A required anti-affinity term of others, and who carries it.
  struct AntiAffinityTerm {
    const ClusterSnapshot::AntiAffineGroup* owners;
    const api::PodAffinityTerm* term;
  };
  /// The terms that speak about this pod, and so about all pods with its labels. Valid as long as this object.
  const std::vector<AntiAffinityTerm>& anti_affinity_terms_of(PodIndex pod);

 private:
  /// The result for pods with the same labels. Keys are compared by value: equal pods need not
  /// share one object.
  template <typename Key>
  struct CachedPods {
    const Key* key;
    Pods pods;
  };
  struct OfLabels {
    std::vector<AntiAffinityTerm> anti_affinity_terms;
    std::vector<CachedPods<api::PodAffinityTerm>> covered;
    std::vector<CachedPods<api::TopologySpreadConstraint>> counted;
  };
  /// No more are kept, in all results together: each pod of a namespace may have a selector over all of it.
  static constexpr std::size_t kCapacityPerPod = 4;

  OfLabels& of_labels_of(PodIndex pod);
  void find_anti_affinity_terms_in(NamespaceIndex ns);
  template <typename Key, typename Find>
  const Pods& remember(std::vector<CachedPods<Key>>& known, const Key& key, Find&& find);

  const ClusterSnapshot& cluster_;
  std::unordered_map<NamespaceIndex, NamespaceLabels> labels_;
  std::vector<std::unique_ptr<OfLabels>> by_group_;  ///< nullptr: nothing was asked, or nothing found
  std::vector<bool> found_anti_affinity_terms_;      ///< by namespace
  std::size_t capacity_;
  Pods long_result_;
};

}  // namespace scheduling
