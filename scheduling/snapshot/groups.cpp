/// What a snapshot groups its pods by: namespaces, labels, affinity.

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "scheduling/snapshot/update.hpp"

namespace scheduling {

/// Namespaces with pods come first, by name.
void ClusterSnapshot::Update::order_namespaces() {
  auto& all = cluster_.namespaces_;
  const std::span with_pods = std::span(all).first(cluster_.namespaces_with_pods_);
  const std::span others = std::span(all).subspan(with_pods.size());
  const auto has_pods = [](const NamespaceEntry& ns) { return ns.pods > 0; };
  if (!std::ranges::all_of(with_pods, has_pods) || std::ranges::any_of(others, has_pods)) sort_namespaces();
  std::uint32_t first = 0;
  for (NamespaceEntry& ns : std::span(all).first(cluster_.namespaces_with_pods_)) {
    ns.first = first;
    first += ns.pods;
  }
}

/// Drops those without pods: derive_namespaces() finds them again.
void ClusterSnapshot::Update::sort_namespaces() {
  constexpr NamespaceIndex kDropped = 0xffffffff;
  auto& all = cluster_.namespaces_;
  auto& by_name = cluster_.namespace_by_name_;
  std::vector<NamespaceIndex> number(all.size(), kDropped);
  std::erase_if(by_name, [&](const auto& each) { return all[each.second].pods == 0; });
  std::map<std::string_view, NamespaceIndex*> in_order;
  for (auto& [name, ns] : by_name) in_order.emplace(name, &ns);
  std::vector<NamespaceEntry> sorted;
  for (const auto& [name, ns] : in_order) {
    number[*ns] = static_cast<NamespaceIndex>(sorted.size());
    sorted.push_back(std::move(all[*ns]));
    *ns = number[*ns];
  }
  for (PodEntry& entry : cluster_.pods_) entry.ns = number[entry.ns];
  cluster_.namespaces_with_pods_ = static_cast<std::uint32_t>(sorted.size());
  all = std::move(sorted);
  namespaces_due_ = true;
}

/// Equal label maps share their storage when they come from the decoder, so the address is enough to tell them apart;
/// maps that are equal and do not share only make one group more. Groups are numbered as they are met by name.
void ClusterSnapshot::Update::form_groups() {
  const std::vector<LabelGroup> groups = std::exchange(cluster_.groups_, {});
  const std::vector<LabelStorage> labels = std::exchange(cluster_.group_labels_, {});
  cluster_.groups_.reserve(groups.size() + arriving_.size());
  cluster_.group_labels_.reserve(groups.size() + arriving_.size());
  auto arrival = arriving_.begin();
  for (NamespaceIndex number = 0; number < cluster_.namespaces_with_pods_; ++number) {
    NamespaceEntry& ns = cluster_.namespaces_[number];
    const std::size_t first = std::exchange(ns.first_group, static_cast<std::uint32_t>(cluster_.groups_.size()));
    const std::size_t count = ns.last_group - first;
    const auto its_first = arrival;
    while (arrival != arriving_.end() && cluster_.pods_[arrival->index].ns == number) ++arrival;
    const std::span<const LabelStorage> known = std::span(labels).subspan(first, count);
    if (std::exchange(ns.is_touched, false)) {
      rank(ns, assign_groups({its_first, arrival}, known));
    } else {
      copy_groups(ns, std::span(groups).subspan(first, count), known);
    }
    ns.last_group = static_cast<std::uint32_t>(cluster_.groups_.size());
  }
}

/// Its pods are the same as before, but may stand elsewhere.
void ClusterSnapshot::Update::copy_groups(const NamespaceEntry& ns, std::span<const LabelGroup> groups,
                                          std::span<const LabelStorage> labels) {
  const PodIndex* at = cluster_.by_labels_.data() + ns.first;
  for (const LabelGroup& group : groups) {
    cluster_.groups_.push_back({group.labels, {at, group.pods.size()}});
    at += group.pods.size();
  }
  cluster_.group_labels_.insert(cluster_.group_labels_.end(), labels.begin(), labels.end());
}

/// Gives each arrival in one namespace the number of the group with its labels. The result: the labels of all groups,
/// new ones last.
std::vector<ClusterSnapshot::LabelStorage> ClusterSnapshot::Update::assign_groups(std::span<const NewPod> arrivals,
                                                                                  std::span<const LabelStorage> known) {
  std::unordered_map<LabelStorage, std::uint32_t> number;
  const auto labels_of = [this](const NewPod& arrival) { return cluster_.pod(arrival.index).meta.labels.begin(); };
  for (const NewPod& arrival : arrivals) number.try_emplace(labels_of(arrival), kUngrouped);
  std::vector<LabelStorage> labels(known.begin(), known.end());
  for (std::uint32_t group = 0; group < known.size() && !number.empty(); ++group) {
    if (const auto at = number.find(known[group]); at != number.end()) at->second = group;
  }
  for (const NewPod& arrival : arrivals) {
    std::uint32_t& group = number.at(labels_of(arrival));
    if (group == kUngrouped) {
      group = static_cast<std::uint32_t>(labels.size());
      labels.push_back(labels_of(arrival));
    }
    cluster_.group_of_[arrival.index] = group;
  }
  return labels;
}

/// Numbers the groups of one namespace in the order in which its pods by name show them. Counting sort.
void ClusterSnapshot::Update::rank(const NamespaceEntry& ns, const std::vector<LabelStorage>& labels) {
  const std::span members = std::span(cluster_.by_name_).subspan(ns.first, ns.pods);
  std::vector<std::uint32_t> ranks(labels.size(), kUngrouped);
  std::vector<std::uint32_t> of_member;
  std::vector<std::uint32_t> next;  // first the sizes
  of_member.reserve(members.size());
  const std::size_t first_group = cluster_.groups_.size();
  for (const PodIndex pod : members) {
    std::uint32_t& group = cluster_.group_of_[pod];
    std::uint32_t& rank = ranks[group];
    if (rank == kUngrouped) {
      rank = static_cast<std::uint32_t>(next.size());
      next.push_back(0);
      cluster_.groups_.push_back({&cluster_.pod(pod).meta.labels, {}});
      cluster_.group_labels_.push_back(labels[group]);
    }
    group = rank;
    ++next[rank];
    of_member.push_back(rank);
  }
  PodIndex* const block = cluster_.by_labels_.data() + ns.first;
  std::uint32_t first = 0;
  for (std::size_t rank = 0; rank < next.size(); ++rank) {
    cluster_.groups_[first_group + rank].pods = {block + first, next[rank]};
    first += std::exchange(next[rank], first);
  }
  for (std::size_t i = 0; i < members.size(); ++i) block[next[of_member[i]]++] = members[i];
}

/// Namespaces that something but a pod of theirs names, and what is known of each.
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
  derive_affinity();
  for (const auto& object : cluster_.namespace_objects_) {
    all[cluster_.intern_namespace(object->meta.name)].object = object.get();
  }
  for (std::uint32_t i = 0; i < cluster_.pdbs_.size(); ++i) {
    all[cluster_.intern_namespace(cluster_.pdbs_[i]->meta.ns)].pdbs.push_back(i);
  }
}

/// Affinities that are equal share their storage when they come from the decoder, so addresses tell the kinds of a
/// label group apart; kinds are numbered as they are met.
void ClusterSnapshot::Update::derive_affinity() {
  constexpr std::uint32_t kNone = 0xffffffff;
  struct Kind {
    const api::Affinity* affinity;
    std::uint32_t next;  ///< of the same label group
    AntiAffineGroup pods;
  };
  std::vector<Kind> kinds;
  std::vector<std::uint32_t> first(cluster_.groups_.size(), kNone);
  cluster_.affinity_pods_.clear();
  for (const PodIndex pod : cluster_.pods()) {
    const PodEntry& entry = cluster_.pods_[pod];
    if (entry.has_pod_affinity) cluster_.affinity_pods_.push_back(pod);
    if (!entry.is_anti_affine || entry.terminal) continue;
    const api::Affinity* const affinity = entry.object->affinity.get();
    std::uint32_t& head = first[cluster_.label_group_of(pod)];
    std::uint32_t kind = head;
    while (kind != kNone && kinds[kind].affinity != affinity) kind = kinds[kind].next;
    if (kind == kNone) {
      kinds.push_back({affinity, head, {}});
      kind = head = static_cast<std::uint32_t>(kinds.size() - 1);
    }
    kinds[kind].pods.push_back(pod);
  }
  cluster_.anti_affine_by_labels_.clear();
  for (Kind& kind : kinds) add_anti_affine(std::move(kind.pods));
}

void ClusterSnapshot::Update::add_anti_affine(AntiAffineGroup kind) {
  std::set<NamespaceIndex> named;
  bool by_labels = false;
  const PodIndex pod = kind.front();
  for (const api::PodAffinityTerm& term : cluster_.pod(pod).affinity->required_pod_anti_affinity) {
    by_labels = by_labels || term.namespace_selector;
    for (const std::string& name : term.namespaces) named.insert(cluster_.intern_namespace(name));
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
