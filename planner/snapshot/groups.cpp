/// Grouping of a snapshot's pods by namespace and labels.

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "planner/snapshot/object_order.hpp"
#include "planner/snapshot/update.hpp"

namespace scheduling {
namespace {

/// Moves an element to another position, shifting those in between by one.
template <typename T>
void move_to(std::vector<T>& list, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  if (from < to) std::rotate(at(from), at(from + 1), at(to + 1));
  if (to < from) std::rotate(at(to), at(from), at(from + 1));
}

}  // namespace

/// Renumbers namespaces with pods by name and drops all others, which derive_namespaces() adds again.
void ClusterSnapshot::Update::sort_namespaces() {
  constexpr NamespaceIndex kDropped = 0xffffffff;
  auto& all = cluster_.namespaces_;
  auto& by_name = cluster_.namespace_by_name_;
  std::vector<NamespaceIndex> number(all.size(), kDropped);
  std::erase_if(by_name, [&](const auto& each) { return all[each.second].pods.empty(); });
  std::map<std::string_view, NamespaceIndex*> in_order;
  for (auto& [name, ns] : by_name) in_order.emplace(name, &ns);
  std::vector<NamespaceEntry> sorted;
  for (const auto& [name, ns] : in_order) {
    number[*ns] = static_cast<NamespaceIndex>(sorted.size());
    sorted.push_back(std::move(all[*ns]));
    *ns = number[*ns];
  }
  for (const PodIndex pod : cluster_.pods()) cluster_.pods_[pod].ns = number[cluster_.pods_[pod].ns];
  cluster_.namespaces_with_pods_ = static_cast<std::uint32_t>(sorted.size());
  all = std::move(sorted);
  namespaces_due_ = true;
}

void ClusterSnapshot::Update::number_groups() {
  std::uint32_t next = 0;
  for (NamespaceEntry& ns : std::span(cluster_.namespaces_).first(cluster_.namespaces_with_pods_)) {
    ns.first_group = next;
    next += static_cast<std::uint32_t>(ns.groups.size());
  }
}

/// Groups the namespace's pods by labels. Label maps are compared by address, because the decoder lets equal maps share
/// their storage; equal maps that do not share only cause additional groups. Groups are numbered in the order in which
/// they are first seen by pod name.
void ClusterSnapshot::Update::form_groups(NamespaceEntry& ns) {
  std::unordered_map<LabelStorage, std::uint32_t> known;
  for (const PodIndex pod : ns.pods) {
    const api::StringMap& labels = meta_of(pod).labels;
    const auto [at, is_new] = known.try_emplace(labels.begin(), static_cast<std::uint32_t>(ns.groups.size()));
    if (is_new) {
      ns.groups.push_back({&labels, {}});
      ns.group_labels.push_back(labels.begin());
    }
    cluster_.pods_[pod].group = at->second;
    ns.groups[at->second].pods.push_back(pod);
  }
}

void ClusterSnapshot::Update::join_group(PodIndex pod) {
  PodEntry& entry = cluster_.pods_[pod];
  NamespaceEntry& ns = cluster_.namespaces_[entry.ns];
  const LabelStorage labels = entry.object->meta.labels.begin();
  entry.group = static_cast<std::uint32_t>(std::ranges::find(ns.group_labels, labels) - ns.group_labels.begin());
  if (entry.group == ns.groups.size()) {
    ns.groups.emplace_back();
    ns.group_labels.push_back(labels);
    groups_due_ = true;
  }
  std::vector<PodIndex>& pods = ns.groups[entry.group].pods;
  const auto meta_of_pod = [this](PodIndex each) -> const api::ObjectMeta& { return meta_of(each); };
  const auto at = pods.insert(std::ranges::upper_bound(pods, meta_of(pod), comes_before, meta_of_pod), pod);
  if (at == pods.begin()) place_group(ns, entry.group);
}

void ClusterSnapshot::Update::leave_group(PodIndex pod) {
  const std::uint32_t group = cluster_.pods_[pod].group;
  NamespaceEntry& ns = cluster_.namespaces_[cluster_.pods_[pod].ns];
  std::vector<PodIndex>& pods = ns.groups[group].pods;
  const auto at = pods.erase(std::ranges::find(pods, pod));
  if (pods.empty()) {
    ns.groups.erase(ns.groups.begin() + group);
    ns.group_labels.erase(ns.group_labels.begin() + group);
    assign_groups(ns, group, ns.groups.size());
    groups_due_ = true;
  } else if (at == pods.begin()) {
    place_group(ns, group);
  }
}

/// Moves a group whose first pod has changed to its sorted position. REQUIRES: the other groups are sorted.
void ClusterSnapshot::Update::place_group(NamespaceEntry& ns, std::uint32_t group) {
  const api::ObjectMeta& first = meta_of(ns.groups[group].pods.front());
  ns.groups[group].labels = &first.labels;
  const auto comes_first = [&](const LabelGroup& each) { return comes_before(meta_of(each.pods.front()), first); };
  const auto all = ns.groups.begin();
  auto to = static_cast<std::size_t>(std::partition_point(all, all + group, comes_first) - all);
  if (to == group)
    to = static_cast<std::size_t>(std::partition_point(all + group + 1, ns.groups.end(), comes_first) - all) - 1;
  move_to(ns.groups, group, to);
  move_to(ns.group_labels, group, to);
  if (to != group) assign_groups(ns, std::min<std::size_t>(group, to), std::max<std::size_t>(group, to) + 1);
}

/// Stores the group numbers [first, last) in the entries of their pods.
void ClusterSnapshot::Update::assign_groups(const NamespaceEntry& ns, std::size_t first, std::size_t last) {
  for (std::size_t group = first; group < last; ++group) {
    for (const PodIndex pod : ns.groups[group].pods) cluster_.pods_[pod].group = static_cast<std::uint32_t>(group);
  }
}

/// Rebuilds the namespaces that have no pods but are named by another object, and all objects that refer to namespaces.
void ClusterSnapshot::Update::derive_namespaces() {
  auto& all = cluster_.namespaces_;
  std::erase_if(cluster_.namespace_by_name_,
                [this](const auto& each) { return each.second >= cluster_.namespaces_with_pods_; });
  all.resize(cluster_.namespaces_with_pods_);
  for (NamespaceEntry& ns : all) {
    ns.object = nullptr;
    ns.pdbs.clear();
    ns.anti_affine.clear();
  }
  for (const auto& object : cluster_.objects_.namespaces) {
    all[cluster_.intern_namespace(object->meta.name)].object = object.get();
  }
  for (std::uint32_t i = 0; i < cluster_.objects_.pdbs.size(); ++i) {
    all[cluster_.intern_namespace(cluster_.objects_.pdbs[i]->meta.ns)].pdbs.push_back(i);
  }
  derive_affinity();
}

}  // namespace scheduling
