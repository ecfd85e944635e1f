#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/core/terms/term_hash.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/namespace_labels.hpp"

namespace scheduling {

/// True if `term`, carried by the pod `owner`, speaks about the pod `other`: namespaces and labels, not topology.
bool covers(const api::PodAffinityTerm& term, PodIndex owner, PodIndex other, const ClusterSnapshot& cluster);

/// The constraint of `owner` counts pods with its labels.
bool counts_itself(const api::TopologySpreadConstraint& constraint, const api::Pod& owner);

/// What selectors say about a snapshot's pods, found out once for all pods of a namespace with the same labels. Holds
/// for the snapshot as it is now, wherever its pods are moved. Not thread-safe, reading included: it remembers.
class SelectorCache {
 public:
  /// Keeps a reference.
  explicit SelectorCache(const ClusterSnapshot& cluster);

  using Pods = std::vector<PodIndex>;

  /// The labels of the namespace's pods, to be asked by selector. Valid as long as this object.
  const NamespaceLabels& labels_in(NamespaceIndex ns);

  /// The active pods, with `owner` itself, that its term speaks about. Valid until the next call. REQUIRES: the term
  /// lives as long as this object; a pod's own does.
  const Pods& covered_by(const api::PodAffinityTerm& term, PodIndex owner);
  /// The staying pods, with `owner` itself, that its constraint counts. Valid until the next call. REQUIRES: as above.
  const Pods& counted_by(const api::TopologySpreadConstraint& constraint, PodIndex owner);

  /// Terms of other pods that speak about a pod: all those of one group of owners over one topology key.
  struct TermOfOthers {
    const std::vector<PodIndex>* owners;  ///< pods of a namespace with the same affinity, never empty
    const api::PodAffinityTerm* term;     ///< the first one over its topology key
    std::int64_t weight;                  ///< sum over the terms
  };
  using Groups = std::span<const std::vector<PodIndex>>;
  /// Required anti-affinity terms about this pod, and so about all pods with its labels. Keys that no node has are left
  /// out: they keep pods from nowhere. Valid as long as this object.
  const std::vector<TermOfOthers>& anti_affinity_terms_of(PodIndex pod);
  /// Terms of pod affinity that move scores, likewise, with their weights. `towards`: the groups of pods whose terms
  /// may speak about the pod's namespace by its name; `by_labels`: those that choose namespaces by labels. REQUIRES:
  /// both are always the same for pods of one namespace, and outlive this object's use.
  const std::vector<TermOfOthers>& preferences_about(PodIndex pod, Groups towards, Groups by_labels);

  /// Some node has a label of this key. True in a cluster without nodes.
  bool nodes_have(std::string_view label);

 private:
  /// Hashes and compares what the pointers point to: equal pods need not share one object.
  struct ByValue {
    template <typename Key>
    std::size_t operator()(const Key* key) const {
      return api::hash_of(*key);
    }
    template <typename Key>
    bool operator()(const Key* a, const Key* b) const {
      return a == b || *a == *b;
    }
  };
  /// Results for pods with the same labels. `covered` and `counted` are for terms that compare labels.
  template <typename Key>
  using KnownPods = std::unordered_map<const Key*, Pods, ByValue, ByValue>;
  struct OfLabels {
    std::vector<TermOfOthers> anti_affinity_terms;
    std::vector<TermOfOthers> preferences;
    KnownPods<api::PodAffinityTerm> covered;
    KnownPods<api::TopologySpreadConstraint> counted;
  };
  /// Results for all pods of a namespace.
  struct OfNamespace {
    KnownPods<api::PodAffinityTerm> covered;
    KnownPods<api::TopologySpreadConstraint> counted;
  };
  struct WeightedTerm {
    const api::PodAffinityTerm* term;
    std::int64_t weight;
  };
  /// Steps that a namespace may still take.
  struct StepsLeft {
    std::size_t own;
    std::size_t shared = kMaxSharedStepsOfNamespace;
  };
  using TermsOf = std::vector<WeightedTerm> (*)(const api::Affinity& affinity);
  using TermList = std::vector<TermOfOthers> OfLabels::*;

  /// Pods kept in all results together: each pod of a namespace may have a selector over all of it.
  static constexpr std::size_t kCapacityPerPod = 4;
  /// Results kept.
  static constexpr std::size_t kKeysPerPod = 16;
  static constexpr std::size_t kMinKeys = 1024;
  /// Bounds on finding the pods that terms of others speak about, in steps: one for each comparison of a term with a
  /// label set, times its weight, and kStepsPerResult for each result that is kept. The owners' namespace pays. Each
  /// one has steps of its own, enough for a few terms about the whole cluster, and takes more from what all share.
  /// Terms beyond are ignored: plans are less exact where the terms of that namespace matter.
  static constexpr std::size_t kMinSteps = std::size_t{1} << 16;
  static constexpr std::size_t kStepsPerLabelSet = 16;
  static constexpr std::size_t kStepsPerResult = 4;
  static constexpr std::size_t kMaxSharedSteps = std::size_t{1} << 24;
  static constexpr std::size_t kMaxSharedStepsOfNamespace = std::size_t{1} << 22;

  OfLabels& of_labels_of(PodIndex pod);
  const std::vector<TermOfOthers>& found_about(PodIndex pod, TermList list) const;
  static std::vector<WeightedTerm> anti_affinity_of(const api::Affinity& affinity);
  static std::vector<WeightedTerm> preferences_of(const api::Affinity& affinity);
  void find_terms(NamespaceIndex ns, Groups groups, TermsOf terms_of, TermList list);
  void find_pods_of(const WeightedTerm& term, const std::vector<PodIndex>& owners, NamespaceIndex ns, TermList list);
  const std::vector<Pods>& joined(Groups groups);
  bool spend(NamespaceIndex owner, std::size_t steps);
  template <typename Key, typename Find>
  const Pods& remember(KnownPods<Key>& known, const Key& key, Find&& find);

  const ClusterSnapshot& cluster_;
  std::unordered_map<NamespaceIndex, NamespaceLabels> labels_;
  std::vector<std::unique_ptr<OfLabels>> by_group_;  ///< nullptr: nothing was asked, or nothing found
  std::unordered_map<NamespaceIndex, OfNamespace> by_namespace_;
  std::unordered_map<const void*, std::vector<Pods>> joined_;  ///< by the storage of the groups
  api::EqualAffinities equal_;
  std::size_t own_steps_;
  std::size_t shared_steps_ = kMaxSharedSteps;
  std::unordered_map<NamespaceIndex, StepsLeft> steps_left_;
  std::vector<bool> found_anti_affinity_terms_;  ///< by namespace
  std::vector<bool> found_preferences_;          ///< by namespace
  std::unordered_set<std::string_view> node_labels_;
  bool knows_node_labels_ = false;
  std::size_t capacity_;
  std::size_t keys_left_;
  Pods long_result_;
};

}  // namespace scheduling
