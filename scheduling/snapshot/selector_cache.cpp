#include "scheduling/snapshot/selector_cache.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduling/predicates.hpp"

namespace scheduling {
namespace {

using api::PodAffinityTerm;

const api::StringMap& labels_of_namespace(const ClusterSnapshot& cluster, NamespaceIndex ns) {
  static const api::StringMap kNone;
  const api::Namespace* object = cluster.namespace_object(ns);
  return object == nullptr ? kNone : object->meta.labels;
}

bool covers_namespace(const PodAffinityTerm& term, NamespaceIndex own, NamespaceIndex ns,
                      const ClusterSnapshot& cluster) {
  if (!term.namespace_selector && term.namespaces.empty()) return own == ns;
  if (std::ranges::find(term.namespaces, cluster.namespace_name(ns)) != term.namespaces.end()) return true;
  return term.namespace_selector && term.namespace_selector->matches(labels_of_namespace(cluster, ns));
}

/// Calls `each` once with every namespace that the term of a pod in `own` speaks about.
template <typename F>
void for_each_namespace(const PodAffinityTerm& term, NamespaceIndex own, const ClusterSnapshot& cluster, F&& each) {
  if (!term.namespace_selector && term.namespaces.empty()) return each(own);
  for (NamespaceIndex ns = 0; ns < cluster.namespace_count(); ++ns) {
    if (covers_namespace(term, own, ns, cluster)) each(ns);
  }
}

/// matchLabelKeys: for each key that `owner` has, `other` has the same value.
bool agree(const std::vector<std::string>& keys, const api::StringMap& owner, const api::StringMap& other) {
  return std::ranges::all_of(keys, [&](const std::string& key) {
    const std::string* wanted = owner.find(key);
    const std::string* found = other.find(key);
    return wanted == nullptr || (found != nullptr && *found == *wanted);
  });
}

bool disagree(const std::vector<std::string>& keys, const api::StringMap& owner, const api::StringMap& other) {
  return std::ranges::all_of(keys, [&](const std::string& key) {
    const std::string* unwanted = owner.find(key);
    const std::string* found = other.find(key);
    return unwanted == nullptr || found == nullptr || *found != *unwanted;
  });
}

bool covers_labels(const PodAffinityTerm& term, const api::StringMap& own, const api::StringMap& other) {
  return term.label_selector && term.label_selector->matches(other) && agree(term.match_label_keys, own, other) &&
         disagree(term.mismatch_label_keys, own, other);
}

bool counts(const api::TopologySpreadConstraint& constraint, const api::StringMap& owner, const api::StringMap& other) {
  return constraint.label_selector && constraint.label_selector->matches(other) &&
         agree(constraint.match_label_keys, owner, other);
}

}  // namespace

bool covers(const PodAffinityTerm& term, PodIndex owner, PodIndex other, const ClusterSnapshot& cluster) {
  return covers_labels(term, cluster.pod(owner).meta.labels, cluster.pod(other).meta.labels) &&
         covers_namespace(term, cluster.namespace_of(owner), cluster.namespace_of(other), cluster);
}

bool counts_itself(const api::TopologySpreadConstraint& constraint, const api::Pod& owner) {
  return counts(constraint, owner.meta.labels, owner.meta.labels);
}

const NamespaceLabels& SelectorCache::labels_in(NamespaceIndex ns) {
  return labels_.try_emplace(ns, cluster_, ns).first->second;
}

SelectorCache::OfLabels& SelectorCache::of_labels_of(PodIndex pod) {
  const std::uint32_t group = cluster_.label_group_of(pod);
  if (group >= by_group_.size()) by_group_.resize(group + 1);
  if (!by_group_[group]) by_group_[group] = std::make_unique<OfLabels>();
  return *by_group_[group];
}

template <typename Key, typename Find>
const SelectorCache::Pods& SelectorCache::remember(std::vector<CachedPods<Key>>& known, const Key& key, Find&& find) {
  const auto is_same = [&](const auto& each) { return each.key == &key || *each.key == key; };
  if (const auto at = std::ranges::find_if(known, is_same); at != known.end()) return at->pods;
  Pods pods;
  find(pods);
  if (pods.size() > capacity_) return long_result_ = std::move(pods);
  capacity_ -= pods.size();
  return known.emplace_back(CachedPods<Key>{&key, std::move(pods)}).pods;
}

const SelectorCache::Pods& SelectorCache::covered_by(const PodAffinityTerm& term, PodIndex owner) {
  return remember(of_labels_of(owner).covered, term, [&](Pods& pods) {
    if (!term.label_selector) return;
    const api::StringMap& own = cluster_.pod(owner).meta.labels;
    const auto is_active = [&](PodIndex pod) { return cluster_.is_active(pod); };
    for_each_namespace(term, cluster_.namespace_of(owner), cluster_, [&](NamespaceIndex ns) {
      labels_in(ns).for_each_group(*term.label_selector, [&](const ClusterSnapshot::LabelGroup& group) {
        if (agree(term.match_label_keys, own, *group.labels) && disagree(term.mismatch_label_keys, own, *group.labels))
          std::ranges::copy_if(group.pods, std::back_inserter(pods), is_active);
      });
    });
  });
}

const SelectorCache::Pods& SelectorCache::counted_by(const api::TopologySpreadConstraint& constraint, PodIndex owner) {
  return remember(of_labels_of(owner).counted, constraint, [&](Pods& pods) {
    if (!asks_for_pods(constraint, cluster_.pod(owner))) return;
    const api::StringMap& own = cluster_.pod(owner).meta.labels;
    const auto is_staying = [&](PodIndex pod) { return cluster_.is_staying(pod); };
    const NamespaceLabels& labels = labels_in(cluster_.namespace_of(owner));
    labels.for_each_group(*constraint.label_selector, [&](const ClusterSnapshot::LabelGroup& group) {
      if (agree(constraint.match_label_keys, own, *group.labels))
        std::ranges::copy_if(group.pods, std::back_inserter(pods), is_staying);
    });
  });
}

const std::vector<SelectorCache::AntiAffinityTerm>& SelectorCache::anti_affinity_terms_of(PodIndex pod) {
  static const std::vector<AntiAffinityTerm> kNone;
  const NamespaceIndex ns = cluster_.namespace_of(pod);
  if (!found_anti_affinity_terms_[ns]) find_anti_affinity_terms_in(ns);
  const std::uint32_t group = cluster_.label_group_of(pod);
  return group < by_group_.size() && by_group_[group] ? by_group_[group]->anti_affinity_terms : kNone;
}

/// Each term finds its pods, rather than each pod its terms: few terms speak about a pod.
void SelectorCache::find_anti_affinity_terms_in(NamespaceIndex ns) {
  found_anti_affinity_terms_[ns] = true;
  const auto ask = [&](std::span<const ClusterSnapshot::AntiAffineGroup> groups) {
    for (const ClusterSnapshot::AntiAffineGroup& owners : groups) {
      for (const PodAffinityTerm& term : cluster_.pod(owners.front()).affinity->required_pod_anti_affinity) {
        if (!term.label_selector) continue;
        labels_in(ns).for_each_group(*term.label_selector, [&](const ClusterSnapshot::LabelGroup& group) {
          const PodIndex pod = group.pods.front();
          if (covers(term, owners.front(), pod, cluster_))
            of_labels_of(pod).anti_affinity_terms.push_back({&owners, &term});
        });
      }
    }
  };
  ask(cluster_.anti_affine_towards(ns));
  ask(cluster_.anti_affine_by_namespace_labels());
}

}  // namespace scheduling
