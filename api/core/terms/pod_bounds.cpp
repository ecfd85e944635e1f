#include "api/core/terms/pod_bounds.hpp"

#include <algorithm>

namespace api {
namespace {

constexpr std::size_t kPartsOfWeight = 16;  ///< parts per additional unit of weight

template <typename F>
void for_each_pod_term(const Affinity& affinity, F&& each) {
  for (const PodAffinityTerm& term : affinity.required_pod_affinity) each(term);
  for (const PodAffinityTerm& term : affinity.required_pod_anti_affinity) each(term);
  for (const auto& [weight, term] : affinity.preferred_pod_affinity) each(term);
  for (const auto& [weight, term] : affinity.preferred_pod_anti_affinity) each(term);
}

std::size_t parts_of(const std::vector<SelectorRequirement>& requirements) {
  std::size_t parts = requirements.size();
  for (const SelectorRequirement& each : requirements) parts += each.values.size();
  return parts;
}

std::size_t parts_of(const std::optional<LabelSelector>& selector) {
  return selector ? parts_of(selector->requirements) : 0;
}

std::size_t parts_of(const NodeSelectorTerm& term) {
  return parts_of(term.match_expressions) + parts_of(term.match_fields);
}

std::size_t parts_of(const PodAffinityTerm& term) {
  return parts_of(term.label_selector) + parts_of(term.namespace_selector) + term.namespaces.size() +
         term.match_label_keys.size() + term.mismatch_label_keys.size();
}

std::size_t node_parts_of(const Affinity& affinity) {
  std::size_t parts = 0;
  if (affinity.required_node_terms) {
    for (const NodeSelectorTerm& term : *affinity.required_node_terms) parts += parts_of(term);
  }
  for (const PreferredNodeTerm& preferred : affinity.preferred_node_terms) parts += parts_of(preferred.term);
  return parts;
}

std::size_t pod_parts_of(const Affinity& affinity) {
  std::size_t parts = 0;
  for_each_pod_term(affinity, [&](const PodAffinityTerm& term) { parts += parts_of(term); });
  return parts;
}

std::size_t parts_of(const SharedList<TopologySpreadConstraint>& constraints) {
  std::size_t parts = 0;
  for (const TopologySpreadConstraint& each : constraints)
    parts += parts_of(each.label_selector) + each.match_label_keys.size();
  return parts;
}

bool is_too_long(std::size_t size) { return size > kMaxPodTerms; }

/// Returns the path of the first affinity list with too many terms, empty if none.
std::string_view too_long_list(const Affinity& affinity) {
  const auto required_nodes = affinity.required_node_terms ? affinity.required_node_terms->size() : 0;
  if (is_too_long(required_nodes) || is_too_long(affinity.preferred_node_terms.size()))
    return "spec.affinity.nodeAffinity";
  if (is_too_long(affinity.required_pod_affinity.size()) || is_too_long(affinity.preferred_pod_affinity.size()))
    return "spec.affinity.podAffinity";
  if (is_too_long(affinity.required_pod_anti_affinity.size()) ||
      is_too_long(affinity.preferred_pod_anti_affinity.size()))
    return "spec.affinity.podAntiAffinity";
  return {};
}

std::string_view too_long_list(const Pod& pod) {
  if (pod.affinity) {
    if (const auto found = too_long_list(*pod.affinity); !found.empty()) return found;
  }
  if (is_too_long(pod.tolerations.size())) return "spec.tolerations";
  if (is_too_long(pod.topology_spread.size())) return "spec.topologySpreadConstraints";
  if (is_too_long(pod.containers.size())) return "spec.containers";
  if (is_too_long(pod.init_containers.size())) return "spec.initContainers";
  if (is_too_long(pod.volumes.size())) return "spec.volumes";
  if (is_too_long(pod.resource_claims.size())) return "spec.resourceClaims";
  return {};
}

/// Returns the path of the first field whose terms have too many parts, empty if none.
std::string_view too_detailed_field(const Pod& pod) {
  if (pod.affinity && node_parts_of(*pod.affinity) > kMaxPodTermParts) return "spec.affinity.nodeAffinity";
  if (pod.affinity && pod_parts_of(*pod.affinity) > kMaxPodTermParts) return "spec.affinity";
  if (parts_of(pod.topology_spread) > kMaxPodTermParts) return "spec.topologySpreadConstraints";
  return {};
}

}  // namespace

std::size_t weight_of(const PodAffinityTerm& term) { return 1 + parts_of(term) / kPartsOfWeight; }

std::size_t pod_term_weight(const Affinity& affinity) {
  std::size_t sum = 0;
  for_each_pod_term(affinity, [&](const PodAffinityTerm& term) { sum += weight_of(term); });
  return sum;
}

std::size_t foreign_term_weight(const Affinity& affinity, std::string_view ns) {
  std::size_t sum = 0;
  for_each_pod_term(affinity, [&](const PodAffinityTerm& term) {
    const auto is_own = [&](const std::string& name) { return name == ns; };
    if (term.namespace_selector || !std::ranges::all_of(term.namespaces, is_own)) sum += weight_of(term);
  });
  return sum;
}

std::size_t node_term_weight(const Affinity& affinity) { return node_parts_of(affinity) / kPartsOfWeight; }

bool compares_labels(const PodAffinityTerm& term) {
  return !term.match_label_keys.empty() || !term.mismatch_label_keys.empty();
}

bool compares_labels(const Affinity& affinity) {
  bool found = false;
  for_each_pod_term(affinity, [&](const PodAffinityTerm& term) { found = found || compares_labels(term); });
  return found;
}

void limit_lists(Pod& pod) {
  std::string_view found = too_long_list(pod);
  if (found.empty()) found = too_detailed_field(pod);
  if (!found.empty()) drop_terms(pod, found);
}

bool exceeds_list_limits(const Pod& pod) { return pod.oversized.empty() && !too_long_list(pod).empty(); }

void drop_terms(Pod& pod, std::string_view why) {
  pod.oversized = why;
  pod.affinity = nullptr;
  pod.tolerations.clear();
  pod.topology_spread.clear();
}

}  // namespace api
