/// Indexes of pods whose affinity affects other pods.

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "planner/snapshot/update.hpp"

namespace scheduling {

/// Calls `each` with the lists that contain groups of the pod's kind. Marks all namespaces as due instead if a term
/// names namespaces, because it may name one that no other object mentions.
template <typename F>
void ClusterSnapshot::Update::for_each_kind_list(const PodEntry& entry, F&& each) {
  if (!is_counted(entry) || namespaces_due_) return;
  const auto& terms = entry.object->affinity->required_pod_anti_affinity;
  if (std::ranges::any_of(terms, [](const auto& term) { return !term.namespaces.empty(); })) {
    namespaces_due_ = true;
    return;
  }
  const auto by_labels = [](const api::PodAffinityTerm& term) { return term.namespace_selector.has_value(); };
  if (!std::ranges::all_of(terms, by_labels)) each(cluster_.namespaces_[entry.ns].anti_affine);
  if (std::ranges::any_of(terms, by_labels)) each(cluster_.anti_affine_by_labels_);
}

/// Compares affinities by address, because the decoder lets equal affinities share their storage.
ClusterSnapshot::Update::Kinds::iterator ClusterSnapshot::Update::kind_of(Kinds& kinds, const PodEntry& entry) const {
  return std::ranges::find_if(kinds, [&](const AntiAffineGroup& kind) {
    const PodEntry& other = cluster_.pods_[kind.front()];
    return other.group == entry.group && other.ns == entry.ns && other.object->affinity == entry.object->affinity;
  });
}

namespace {

using Kinds = std::vector<ClusterSnapshot::AntiAffineGroup>;

/// Moves a kind whose first pod has changed to its sorted position. Kinds are ordered by their first pods.
void place_kind(Kinds& kinds, Kinds::iterator kind) {
  auto moved = std::move(*kind);
  kinds.erase(kind);
  const auto first_of = [](const auto& each) { return each.front(); };
  const auto at = std::ranges::lower_bound(kinds, moved.front(), {}, first_of);
  kinds.insert(at, std::move(moved));
}

void put_in_order(std::vector<PodIndex>& pods, PodIndex pod) { pods.insert(std::ranges::lower_bound(pods, pod), pod); }

void take_out(std::vector<PodIndex>& pods, PodIndex pod) { pods.erase(std::ranges::lower_bound(pods, pod)); }

}  // namespace

/// Adds the pod to the affinity indexes. REQUIRES: its label group is assigned.
void ClusterSnapshot::Update::add_to_affinity_index(PodIndex pod) {
  const PodEntry& entry = cluster_.pods_[pod];
  if (namespaces_due_) return;
  if (entry.has_pod_affinity) put_in_order(cluster_.affinity_pods_, pod);
  for_each_kind_list(entry, [&](Kinds& kinds) {
    auto kind = kind_of(kinds, entry);
    if (kind == kinds.end()) kind = kinds.emplace(kinds.end());
    put_in_order(*kind, pod);
    if (kind->front() == pod) place_kind(kinds, kind);
  });
}

/// Removes the pod from the affinity indexes. REQUIRES: its label group is still assigned.
void ClusterSnapshot::Update::remove_from_affinity_index(PodIndex pod) {
  const PodEntry& entry = cluster_.pods_[pod];
  if (namespaces_due_) return;
  if (entry.has_pod_affinity) take_out(cluster_.affinity_pods_, pod);
  for_each_kind_list(entry, [&](Kinds& kinds) {
    const auto kind = kind_of(kinds, entry);
    const bool was_first = kind->front() == pod;
    take_out(*kind, pod);
    if (kind->empty()) {
      kinds.erase(kind);
    } else if (was_first) {
      place_kind(kinds, kind);
    }
  });
}

/// Replaces the pod's number in the affinity indexes. REQUIRES: no pod is numbered between `from` and `to`, and the
/// entry has not moved yet.
void ClusterSnapshot::Update::renumber_affinity(PodIndex from, PodIndex to) {
  const PodEntry& entry = cluster_.pods_[from];
  if (namespaces_due_) return;
  const auto exchange = [&](std::vector<PodIndex>& pods) { *std::ranges::lower_bound(pods, from) = to; };
  if (entry.has_pod_affinity) exchange(cluster_.affinity_pods_);
  for_each_kind_list(entry, [&](Kinds& kinds) { exchange(*kind_of(kinds, entry)); });
}

/// Rebuilds the affinity indexes. Kinds within a label group are distinguished by the address of the affinity, because
/// the decoder lets equal affinities share their storage. Kinds are numbered in the order in which they are first seen.
void ClusterSnapshot::Update::derive_affinity() {
  using Kind = std::pair<std::uint32_t, const api::Affinity*>;  // label group and affinity
  struct Hash {
    std::size_t operator()(const Kind& kind) const {
      return std::hash<const void*>()(kind.second) + kind.first * 0x9e3779b97f4a7c15U;
    }
  };
  Kinds kinds;
  std::unordered_map<Kind, std::size_t, Hash> known;
  cluster_.affinity_pods_.clear();
  for (const PodIndex pod : cluster_.pods()) {
    const PodEntry& entry = cluster_.pods_[pod];
    if (entry.has_pod_affinity) cluster_.affinity_pods_.push_back(pod);
    if (!is_counted(entry)) continue;
    const Kind kind(cluster_.label_group_of(pod), entry.object->affinity.get());
    const auto [at, is_new] = known.try_emplace(kind, kinds.size());
    if (is_new) kinds.emplace_back();
    kinds[at->second].push_back(pod);
  }
  cluster_.anti_affine_by_labels_.clear();
  for (AntiAffineGroup& kind : kinds) add_anti_affine(std::move(kind));
}

/// Adds the kind to the namespaces that its terms select. Skips unknown namespaces, which have no pods to select.
void ClusterSnapshot::Update::add_anti_affine(AntiAffineGroup kind) {
  std::set<NamespaceIndex> named;
  bool by_labels = false;
  const PodIndex pod = kind.front();
  for (const api::PodAffinityTerm& term : cluster_.pod(pod).affinity->required_pod_anti_affinity) {
    by_labels = by_labels || term.namespace_selector;
    for (const std::string& name : term.namespaces) {
      if (const auto ns = cluster_.find_namespace(name)) named.insert(*ns);
    }
    if (!term.namespace_selector && term.namespaces.empty()) named.insert(cluster_.namespace_of(pod));
  }
  if (named.size() == 1 && !by_labels) {
    cluster_.namespaces_[*named.begin()].anti_affine.push_back(std::move(kind));
    return;
  }
  if (by_labels) cluster_.anti_affine_by_labels_.push_back(kind);
  for (const NamespaceIndex ns : named) cluster_.namespaces_[ns].anti_affine.push_back(kind);
}

}  // namespace scheduling
