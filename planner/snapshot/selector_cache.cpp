#include "planner/snapshot/selector_cache.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "api/core/terms/pod_bounds.hpp"
#include "planner/snapshot/matching.hpp"

namespace scheduling {
namespace {

using api::PodAffinityTerm;

constexpr std::int64_t kRequiredAffinityWeight = 1;  // kube-scheduler's hardPodAffinityWeight

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

/// Calls `each` once with every namespace that the term of a pod in `own` selects.
template <typename F>
void for_each_namespace(const PodAffinityTerm& term, NamespaceIndex own, const ClusterSnapshot& cluster, F&& each) {
  if (!term.namespace_selector && term.namespaces.empty()) return each(own);
  for (NamespaceIndex ns = 0; ns < cluster.namespace_count(); ++ns) {
    if (covers_namespace(term, own, ns, cluster)) each(ns);
  }
}

/// Evaluates matchLabelKeys: for each key that `owner` has, `other` must have the same value.
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

/// Returns the groups that have the label required by the selector's first equality, or nullptr if all groups must be
/// compared.
const std::vector<std::uint32_t>* NamespaceLabels::candidates(const api::LabelSelector& selector) const {
  static const std::vector<std::uint32_t> kNone;
  const auto is_equality = [](const api::SelectorRequirement& each) {
    return each.op == api::SelectorOperator::kIn && each.values.size() == 1;
  };
  const auto equality = std::ranges::find_if(selector.requirements, is_equality);
  if (equality == selector.requirements.end() || groups_.size() < 8) return nullptr;
  auto known = by_key_.find(equality->key);
  if (known == by_key_.end()) {
    known = by_key_.try_emplace(equality->key).first;
    for (std::uint32_t i = 0; i < groups_.size(); ++i) {
      if (const std::string* value = groups_[i].labels->find(equality->key)) known->second[*value].push_back(i);
    }
  }
  const auto groups = known->second.find(equality->values.front());
  return groups == known->second.end() ? &kNone : &groups->second;
}

SelectorCache::SelectorCache(const ClusterSnapshot& cluster)
    : cluster_(cluster),
      own_steps_(kMinSteps),
      found_anti_affinity_terms_(cluster.namespace_count(), false),
      found_preferences_(cluster.namespace_count(), false),
      capacity_(kCapacityPerPod * cluster.pod_count()),
      keys_left_(kMinKeys + kKeysPerPod * cluster.pod_count()) {
  for (NamespaceIndex ns = 0; ns < cluster.namespace_count(); ++ns)
    own_steps_ += kStepsPerLabelSet * cluster.label_groups(ns).size();
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

bool SelectorCache::nodes_have(std::string_view label) {
  if (cluster_.node_count() == 0) return true;
  if (!knows_node_labels_) {
    for (const NodeIndex node : cluster_.nodes()) {
      for (const auto& [key, value] : cluster_.node(node).meta.labels) node_labels_.insert(key);
    }
    knows_node_labels_ = true;
  }
  return node_labels_.contains(label);
}

template <typename Key, typename Find>
const SelectorCache::Pods& SelectorCache::remember(KnownPods<Key>& known, const Key& key, Find&& find) {
  if (const auto at = known.find(&key); at != known.end()) return at->second;
  Pods pods;
  find(pods);
  if (pods.size() > capacity_ || keys_left_ == 0) return long_result_ = std::move(pods);
  capacity_ -= pods.size();
  --keys_left_;
  return known.emplace(&key, std::move(pods)).first->second;
}

const SelectorCache::Pods& SelectorCache::covered_by(const PodAffinityTerm& term, PodIndex owner) {
  auto& known =
      api::compares_labels(term) ? of_labels_of(owner).covered : by_namespace_[cluster_.namespace_of(owner)].covered;
  return remember(known, term, [&](Pods& pods) {
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
  auto& known = constraint.match_label_keys.empty() ? by_namespace_[cluster_.namespace_of(owner)].counted
                                                    : of_labels_of(owner).counted;
  return remember(known, constraint, [&](Pods& pods) {
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

const std::vector<SelectorCache::TermOfOthers>& SelectorCache::anti_affinity_terms_of(PodIndex pod) {
  const Groups towards = cluster_.anti_affinity_groups_selecting(cluster_.namespace_of(pod));
  return terms_about(pod, found_anti_affinity_terms_, {towards, cluster_.anti_affine_by_namespace_labels()},
                     &anti_affinity_of, &OfLabels::anti_affinity_terms);
}

const std::vector<SelectorCache::TermOfOthers>& SelectorCache::preferences_about(PodIndex pod, Groups towards,
                                                                                 Groups by_labels) {
  return terms_about(pod, found_preferences_, {towards, by_labels}, &preferences_of, &OfLabels::preferences);
}

/// `found` says for each namespace whether the terms about its pods are in `list`.
const std::vector<SelectorCache::TermOfOthers>& SelectorCache::terms_about(PodIndex pod, std::vector<bool>& found,
                                                                           std::initializer_list<Groups> groups,
                                                                           TermsOf terms_of, TermList list) {
  static const std::vector<TermOfOthers> kNone;
  const NamespaceIndex ns = cluster_.namespace_of(pod);
  if (!found[ns]) {
    for (const Groups each : groups) find_terms(ns, each, terms_of, list);
    found[ns] = true;
  }
  const std::uint32_t group = cluster_.label_group_of(pod);
  return group < by_group_.size() && by_group_[group] ? (*by_group_[group]).*list : kNone;
}

std::vector<SelectorCache::WeightedTerm> SelectorCache::anti_affinity_of(const api::Affinity& affinity) {
  std::vector<WeightedTerm> terms;
  for (const PodAffinityTerm& term : affinity.required_pod_anti_affinity) terms.push_back({&term, 1});
  return terms;
}

std::vector<SelectorCache::WeightedTerm> SelectorCache::preferences_of(const api::Affinity& affinity) {
  std::vector<WeightedTerm> terms;
  for (const PodAffinityTerm& term : affinity.required_pod_affinity) terms.push_back({&term, kRequiredAffinityWeight});
  for (const auto& [weight, term] : affinity.preferred_pod_affinity) terms.push_back({&term, weight});
  for (const auto& [weight, term] : affinity.preferred_pod_anti_affinity) terms.push_back({&term, -weight});
  return terms;
}

/// Merges groups of one namespace with equal affinity, ordered by their first pods. Groups are merged across label sets
/// unless a term compares labels, because each pod of a workload may have different labels.
const std::vector<SelectorCache::Pods>& SelectorCache::joined(Groups groups) {
  constexpr std::uint32_t kAnyLabels = std::numeric_limits<std::uint32_t>::max();
  const auto [at, is_new] = joined_.try_emplace(groups.data());
  std::vector<Pods>& all = at->second;
  if (!is_new) return all;
  std::map<std::tuple<NamespaceIndex, const api::Affinity*, std::uint32_t>, std::size_t> known;
  for (const Pods& group : groups) {
    const PodIndex first = group.front();
    const api::Affinity* const affinity = equal_.intern(cluster_.pod(first).affinity.get());
    const std::uint32_t labels = api::compares_labels(*affinity) ? cluster_.label_group_of(first) : kAnyLabels;
    const auto kind = known.try_emplace({cluster_.namespace_of(first), affinity, labels}, all.size());
    if (kind.second) all.emplace_back();
    Pods& pods = all[kind.first->second];
    pods.insert(pods.end(), group.begin(), group.end());
  }
  return all;
}

/// Charges steps to the namespace. Returns false if its budget is exhausted.
bool SelectorCache::spend(NamespaceIndex owner, std::size_t steps) {
  StepsLeft& left = steps_left_.try_emplace(owner, StepsLeft{own_steps_}).first->second;
  if (steps <= left.own) {
    left.own -= steps;
    return true;
  }
  if (steps > std::min(left.shared, shared_steps_)) return false;
  left.shared -= steps;
  shared_steps_ -= steps;
  return true;
}

/// Finds the pods of each term rather than the terms of each pod, because few terms select a given pod.
void SelectorCache::find_terms(NamespaceIndex ns, Groups groups, TermsOf terms_of, TermList list) {
  for (const Pods& owners : joined(groups)) {
    const NamespaceIndex own = cluster_.namespace_of(owners.front());
    std::vector<WeightedTerm> terms = terms_of(*cluster_.pod(owners.front()).affinity);
    std::erase_if(terms, [&](const WeightedTerm& each) {
      return !each.term->label_selector || !nodes_have(each.term->topology_key) ||
             !covers_namespace(*each.term, own, ns, cluster_);
    });
    std::ranges::stable_sort(terms, {},
                             [](const WeightedTerm& each) -> const std::string& { return each.term->topology_key; });
    for (const WeightedTerm& term : terms) find_pods_of(term, owners, ns, list);
  }
}

void SelectorCache::find_pods_of(const WeightedTerm& term, const std::vector<PodIndex>& owners, NamespaceIndex ns,
                                 TermList list) {
  const NamespaceIndex payer = cluster_.namespace_of(owners.front());
  const NamespaceLabels& labels = labels_in(ns);
  const std::size_t compared = labels.groups_compared(*term.term->label_selector);
  if (!spend(payer, compared * api::weight_of(*term.term))) return;
  const api::StringMap& own = cluster_.pod(owners.front()).meta.labels;
  labels.for_each_group(*term.term->label_selector, [&](const ClusterSnapshot::LabelGroup& group) {
    if (!agree(term.term->match_label_keys, own, *group.labels) ||
        !disagree(term.term->mismatch_label_keys, own, *group.labels))
      return;
    std::vector<TermOfOthers>& known = of_labels_of(group.pods.front()).*list;
    const bool joins =
        !known.empty() && known.back().owners == &owners && known.back().term->topology_key == term.term->topology_key;
    if (joins)
      known.back().weight += term.weight;
    else if (spend(payer, kStepsPerResult))
      known.push_back({&owners, term.term, term.weight});
  });
}

}  // namespace scheduling
