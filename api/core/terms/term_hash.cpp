#include "api/core/terms/term_hash.hpp"

#include <utility>

#include "api/meta/shared.hpp"

namespace api {
namespace {

std::int64_t count_of(const auto& list) { return static_cast<std::int64_t>(list.size()); }

void mix_in(Hasher& hasher, const std::vector<std::string>& texts) {
  hasher.add(count_of(texts));
  for (const std::string& text : texts) hasher.add(text);
}

void mix_in(Hasher& hasher, const std::vector<SelectorRequirement>& requirements) {
  hasher.add(count_of(requirements));
  for (const SelectorRequirement& each : requirements) {
    hasher.add(each.key).add(static_cast<int>(each.op));
    mix_in(hasher, each.values);
  }
}

void mix_in(Hasher& hasher, const std::optional<LabelSelector>& selector) {
  hasher.add(selector ? 1 : 0);
  if (selector) mix_in(hasher, selector->requirements);
}

void mix_in(Hasher& hasher, const NodeSelectorTerm& term) {
  mix_in(hasher, term.match_expressions);
  mix_in(hasher, term.match_fields);
}

void mix_in(Hasher& hasher, const PodAffinityTerm& term) {
  mix_in(hasher, term.label_selector);
  mix_in(hasher, term.namespaces);
  mix_in(hasher, term.namespace_selector);
  hasher.add(term.topology_key);
  mix_in(hasher, term.match_label_keys);
  mix_in(hasher, term.mismatch_label_keys);
}

void mix_in(Hasher& hasher, const TopologySpreadConstraint& each) {
  hasher.add(each.max_skew).add(each.topology_key).add(each.schedule_anyway ? 1 : 0);
  mix_in(hasher, each.label_selector);
  hasher.add(each.min_domains.value_or(-1)).add(each.honor_node_affinity ? 1 : 0).add(each.honor_node_taints ? 1 : 0);
  mix_in(hasher, each.match_label_keys);
}

void mix_in(Hasher& hasher, const Toleration& each) {
  hasher.add(each.key).add(each.exists ? 1 : 0).add(each.value);
  hasher.add(each.effect ? static_cast<int>(*each.effect) : -1);
  hasher.add(each.toleration_seconds.value_or(base::seconds(-1)).count()).add(static_cast<int>(each.comparison));
}

void mix_in(Hasher& hasher, const PreferredNodeTerm& preferred) {
  hasher.add(preferred.weight);
  mix_in(hasher, preferred.term);
}

void mix_in(Hasher& hasher, const std::pair<int, PodAffinityTerm>& preferred) {
  hasher.add(preferred.first);
  mix_in(hasher, preferred.second);
}

template <typename T>
void mix_in(Hasher& hasher, const std::vector<T>& list) {
  hasher.add(count_of(list));
  for (const T& each : list) mix_in(hasher, each);
}

void mix_in(Hasher& hasher, const Affinity& affinity) {
  hasher.add(affinity.has_node_affinity ? 1 : 0).add(affinity.required_node_terms ? 1 : 0);
  if (affinity.required_node_terms) mix_in(hasher, *affinity.required_node_terms);
  mix_in(hasher, affinity.preferred_node_terms);
  mix_in(hasher, affinity.required_pod_affinity);
  mix_in(hasher, affinity.required_pod_anti_affinity);
  mix_in(hasher, affinity.preferred_pod_affinity);
  mix_in(hasher, affinity.preferred_pod_anti_affinity);
}

std::size_t hash_value(const auto& value) {
  Hasher hasher;
  mix_in(hasher, value);
  return hasher.value();
}

}  // namespace

std::size_t hash_of(const PodAffinityTerm& term) { return hash_value(term); }
std::size_t hash_of(const TopologySpreadConstraint& constraint) { return hash_value(constraint); }
std::size_t hash_of(const std::vector<Toleration>& tolerations) { return hash_value(tolerations); }
std::size_t hash_of(const Affinity& affinity) { return hash_value(affinity); }

const Affinity* EqualAffinities::intern(const Affinity* affinity) {
  const auto [at, is_new] = known_.try_emplace(affinity, affinity);
  if (is_new && affinity != nullptr) at->second = *distinct_.insert(affinity).first;
  return at->second;
}

}  // namespace api
