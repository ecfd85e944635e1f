#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/core/terms/term_hash.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Returns true if `term` of the pod `owner` selects the pod `other` by namespace and labels. Ignores topology.
bool covers(const api::PodAffinityTerm& term, PodIndex owner, PodIndex other, const ClusterSnapshot& cluster);

/// Returns true if the constraint of `owner` counts pods with the labels of `owner`.
bool counts_itself(const api::TopologySpreadConstraint& constraint, const api::Pod& owner);

/// Finds the pods of a namespace that a selector matches without evaluating the selector for every pod. Builds indexes
/// of labels on demand, so even const methods are not thread-safe.
class NamespaceLabels {
 public:
  NamespaceLabels(const ClusterSnapshot& cluster, NamespaceIndex ns) : groups_(cluster.label_groups(ns)) {}

  template <typename F>
  void for_each_match(const api::LabelSelector& selector, F&& each) const {
    for_each_group(selector, [&](const ClusterSnapshot::LabelGroup& group) {
      for (const PodIndex pod : group.pods) each(pod);
    });
  }

  /// Calls `each` with every label group that the selector matches.
  template <typename F>
  void for_each_group(const api::LabelSelector& selector, F&& each) const {
    const auto ask = [&](const ClusterSnapshot::LabelGroup& group) {
      if (selector.matches(*group.labels)) each(group);
    };
    if (const std::vector<std::uint32_t>* some = candidates(selector)) {
      for (const std::uint32_t group : *some) ask(groups_[group]);
    } else {
      for (const auto& group : groups_) ask(group);
    }
  }

  /// Number of label sets that for_each_group() compares with the selector.
  std::size_t groups_compared(const api::LabelSelector& selector) const {
    const std::vector<std::uint32_t>* some = candidates(selector);
    return some == nullptr ? groups_.size() : some->size();
  }

 private:
  const std::vector<std::uint32_t>* candidates(const api::LabelSelector& selector) const;

  std::span<const ClusterSnapshot::LabelGroup> groups_;
  mutable std::unordered_map<std::string, std::unordered_map<std::string_view, std::vector<std::uint32_t>>> by_key_;
};

/// Caches which pods of a snapshot selectors match, once per namespace and label set. Results are independent of where
/// WhatIf moves the pods. Even read methods are not thread-safe because they fill the cache.
class SelectorCache {
 public:
  /// Keeps a reference to the snapshot.
  explicit SelectorCache(const ClusterSnapshot& cluster);

  using Pods = std::vector<PodIndex>;

  /// Label index of the namespace's pods. Valid as long as this object.
  const NamespaceLabels& labels_in(NamespaceIndex ns);

  /// Active pods, including `owner` itself if selected, that a term of `owner` selects. Valid until the next call.
  /// REQUIRES: the term outlives this object, as terms of the snapshot's pods do.
  const Pods& covered_by(const api::PodAffinityTerm& term, PodIndex owner);
  /// Staying pods, including `owner` itself if selected, that a constraint of `owner` counts. Valid until the next
  /// call. REQUIRES: the constraint outlives this object, as constraints of the snapshot's pods do.
  const Pods& counted_by(const api::TopologySpreadConstraint& constraint, PodIndex owner);

  /// Terms of other pods that select a given pod. Each entry combines the terms of one group of owners over one
  /// topology key.
  struct TermOfOthers {
    const std::vector<PodIndex>* owners;  ///< pods of one namespace with equal affinity, never empty
    const api::PodAffinityTerm* term;     ///< first term over this topology key
    std::int64_t weight;                  ///< sum over the combined terms
  };
  using Groups = std::span<const std::vector<PodIndex>>;
  /// Required anti-affinity terms that select this pod, and hence all pods with its labels. Terms over topology keys
  /// that no node has are omitted because they exclude no node. Valid as long as this object.
  const std::vector<TermOfOthers>& anti_affinity_terms_of(PodIndex pod);
  /// Pod affinity terms, with their weights, that affect the scores of this pod, and hence of all pods with its labels.
  /// `towards` contains the groups of pods whose terms may select the pod's namespace by name; `by_labels` contains
  /// those that select namespaces by labels. Valid as long as this object. REQUIRES: both arguments are the same for
  /// all pods of one namespace and outlive this object.
  const std::vector<TermOfOthers>& preferences_about(PodIndex pod, Groups towards, Groups by_labels);

  /// Returns true if a node has a label with this key, or if the cluster has no nodes.
  bool nodes_have(std::string_view label);

 private:
  /// Hashes and compares the values pointed to, because equal pods need not share one object.
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
  template <typename Key>
  using KnownPods = std::unordered_map<const Key*, Pods, ByValue, ByValue>;
  /// Results for all pods of a namespace.
  struct OfNamespace {
    KnownPods<api::PodAffinityTerm> covered;
    KnownPods<api::TopologySpreadConstraint> counted;
  };
  /// Results for pods with equal labels. `covered` and `counted` hold terms that compare labels.
  struct OfLabels : OfNamespace {
    std::vector<TermOfOthers> anti_affinity_terms;
    std::vector<TermOfOthers> preferences;
  };
  struct WeightedTerm {
    const api::PodAffinityTerm* term;
    std::int64_t weight;
  };
  /// Remaining step budget of a namespace.
  struct StepsLeft {
    std::size_t own;
    std::size_t shared = kMaxSharedStepsOfNamespace;
  };
  using TermsOf = std::vector<WeightedTerm> (*)(const api::Affinity& affinity);
  using TermList = std::vector<TermOfOthers> OfLabels::*;

  /// Maximum total size of the cached results, per pod of the cluster. Bounds memory, because each pod of a namespace
  /// may have a selector that matches all of it.
  static constexpr std::size_t kCapacityPerPod = 4;
  /// Maximum number of cached results: kMinKeys + kKeysPerPod per pod of the cluster.
  static constexpr std::size_t kKeysPerPod = 16;
  static constexpr std::size_t kMinKeys = 1024;
  /// Bounds on the steps for finding the pods that terms of other pods select. Each comparison of a term with a label
  /// set costs one step times the term's weight; each stored result costs kStepsPerResult. Steps are charged to the
  /// namespace of the owners. Each namespace has its own steps, enough for a few terms about the whole cluster, and
  /// then draws on steps shared by all. Terms beyond the bounds are ignored, which makes plans less exact where these
  /// terms matter.
  static constexpr std::size_t kMinSteps = std::size_t{1} << 16;
  static constexpr std::size_t kStepsPerLabelSet = 16;
  static constexpr std::size_t kStepsPerResult = 4;
  static constexpr std::size_t kMaxSharedSteps = std::size_t{1} << 24;
  static constexpr std::size_t kMaxSharedStepsOfNamespace = std::size_t{1} << 22;

  OfLabels& of_labels_of(PodIndex pod);
  const std::vector<TermOfOthers>& terms_about(PodIndex pod, std::vector<bool>& found,
                                               std::initializer_list<Groups> groups, TermsOf terms_of, TermList list);
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
  /// Indexed by label group; nullptr if never requested or nothing was found.
  std::vector<std::unique_ptr<OfLabels>> by_group_;
  std::unordered_map<NamespaceIndex, OfNamespace> by_namespace_;
  std::unordered_map<const void*, std::vector<Pods>> joined_;  ///< by address of the groups' storage
  api::EqualAffinities equal_;
  std::size_t own_steps_;
  std::size_t shared_steps_ = kMaxSharedSteps;
  std::unordered_map<NamespaceIndex, StepsLeft> steps_left_;
  std::vector<bool> found_anti_affinity_terms_;  ///< indexed by namespace
  std::vector<bool> found_preferences_;          ///< indexed by namespace
  std::unordered_set<std::string_view> node_labels_;
  bool knows_node_labels_ = false;
  std::size_t capacity_;
  std::size_t keys_left_;
  Pods long_result_;
};

}  // namespace scheduling
