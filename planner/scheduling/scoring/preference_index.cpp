#include "planner/scheduling/scoring/preference_index.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace scheduling {
namespace {

bool is_spread_by_default(const api::Pod& pod) {
  return std::ranges::any_of(pod.meta.owner_references, [](const api::OwnerReference& owner) {
    if (!owner.controller) return false;
    if (owner.kind == "ReplicationController") return owner.api_version == "v1";
    return owner.api_version == "apps/v1" && (owner.kind == "ReplicaSet" || owner.kind == "StatefulSet");
  });
}

/// Calls `each` with every term of the affinity that changes scores of other pods.
template <typename F>
void for_each_term(const api::Affinity& affinity, F&& each) {
  for (const api::PodAffinityTerm& term : affinity.required_pod_affinity) each(term);
  for (const auto& [weight, term] : affinity.preferred_pod_affinity) each(term);
  for (const auto& [weight, term] : affinity.preferred_pod_anti_affinity) each(term);
}

}  // namespace

PreferenceIndex::PreferenceIndex(const ClusterSnapshot& cluster)
    : cluster_(&cluster), by_namespace_(cluster.namespace_count()) {
  sort_by_owner();
  std::vector<Group> groups;
  std::map<std::tuple<NamespaceIndex, const void*, const void*>, std::size_t> known;
  for (const PodIndex pod : cluster.affinity_pods()) {
    const api::Pod& object = cluster.pod(pod);
    if (!cluster.is_active(pod)) continue;
    const auto [at, is_new] = known.try_emplace(
        {cluster.namespace_of(pod), object.meta.labels.begin(), object.affinity.get()}, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(pod);
  }
  for (const Group& group : groups) add(group);
}

/// Fills by_owner_ with a counting sort.
void PreferenceIndex::sort_by_owner() {
  const auto for_each_owned = [this](auto&& each) {
    for (const PodIndex pod : cluster_->pods()) {
      const auto owner = cluster_->owner_of(pod);
      if (owner && cluster_->is_staying(pod)) each(*owner, pod);
    }
  };
  std::vector<std::uint32_t> next(cluster_->owner_count() + 1, 0);
  for_each_owned([&](std::uint32_t owner, PodIndex) { ++next[owner + 1]; });
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  first_pod_ = next;
  by_owner_.resize(next.back());
  for_each_owned([&](std::uint32_t owner, PodIndex pod) { by_owner_[next[owner]++] = pod; });
}

void PreferenceIndex::add(const Group& group) {
  std::set<NamespaceIndex> named;
  bool by_labels = false;
  for_each_term(*cluster_->pod(group.front()).affinity, [&](const api::PodAffinityTerm& term) {
    by_labels = by_labels || term.namespace_selector;
    for (const std::string& name : term.namespaces) {
      if (const auto ns = cluster_->find_namespace(name)) named.insert(*ns);
    }
    if (!term.namespace_selector && term.namespaces.empty()) named.insert(cluster_->namespace_of(group.front()));
  });
  if (by_labels) {
    by_labels_.push_back(group);  // all its terms are evaluated for every pod, so one entry is enough
    return;
  }
  for (const NamespaceIndex ns : named) by_namespace_[ns].push_back(group);
}

std::span<const PodIndex> PreferenceIndex::siblings(PodIndex pod) const {
  const auto owner = cluster_->owner_of(pod);
  if (!owner || !is_spread_by_default(cluster_->pod(pod))) return {};
  return std::span(by_owner_).subspan(first_pod_[*owner], first_pod_[*owner + 1] - first_pod_[*owner]);
}

}  // namespace scheduling
