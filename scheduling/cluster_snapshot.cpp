#include "scheduling/cluster_snapshot.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/well_known.hpp"

namespace scheduling {
namespace {

bool before(const api::ObjectMeta& a, const api::ObjectMeta& b) {
  if (const int order = a.ns.compare(b.ns); order != 0) return order < 0;
  if (const int order = a.name.compare(b.name); order != 0) return order < 0;
  return a.uid < b.uid;
}

/// Drops nulls and orders by namespace, name, uid. Lists of a store are in order already.
template <typename T>
SnapshotInput::List<T> in_order(SnapshotInput::List<T> list) {
  std::erase(list, nullptr);
  const auto less = [](const auto& a, const auto& b) { return before(a->meta, b->meta); };
  if (!std::ranges::is_sorted(list, less)) std::ranges::stable_sort(list, less);
  return list;
}

/// Where the object with this name is; end(): nowhere.
template <typename List>
auto position_in(List& list, std::string_view ns, std::string_view name) {
  const auto key = std::tuple(ns, name);
  const auto key_of = [](const auto& object) {
    return std::tuple<std::string_view, std::string_view>(object->meta.ns, object->meta.name);
  };
  const auto at = std::ranges::lower_bound(list, key, {}, key_of);
  return at == list.end() || key_of(*at) != key ? list.end() : at;
}

template <typename T>
const T* find_in(const SnapshotInput::List<T>& list, std::string_view ns, std::string_view name) {
  const auto at = position_in(list, ns, name);
  return at == list.end() ? nullptr : at->get();
}

/// Calls `each` with the uid of every owner, once each.
template <typename F>
void for_each_owner(const api::Pod& pod, F&& each) {
  const auto& owners = pod.meta.owner_references;
  for (auto owner = owners.begin(); owner != owners.end(); ++owner) {
    if (std::ranges::find(owners.begin(), owner, owner->uid, &api::OwnerReference::uid) == owner) each(owner->uid);
  }
}

bool same_affinity(const api::Pod& a, const api::Pod& b) {
  return a.affinity == b.affinity || (a.affinity && b.affinity && *a.affinity == *b.affinity);
}

bool is_choosy(const api::Affinity& affinity) {
  return !affinity.required_pod_affinity.empty() || !affinity.preferred_pod_affinity.empty() ||
         !affinity.preferred_pod_anti_affinity.empty();
}

/// A node whose next state may have other problems.
bool may_have_other_problems(const api::Node& node) {
  return node.unread != nullptr || node.taints.size() > kManyTaints;
}

/// What the snapshot orders and groups pods by.
bool stands_in_the_same_place(const api::Pod& a, const api::Pod& b) {
  return a.meta.uid == b.meta.uid && a.node_name.value == b.node_name.value && a.meta.labels == b.meta.labels &&
         a.meta.owner_references == b.meta.owner_references && same_affinity(a, b);
}

}  // namespace

ClusterSnapshot::ClusterSnapshot(SnapshotInput input, Quantities quantities)
    : priority_classes_(in_order(std::move(input.priority_classes))),
      claims_(in_order(std::move(input.claims))),
      volumes_(in_order(std::move(input.volumes))),
      workloads_(in_order(std::move(input.workloads))),
      storage_classes_(in_order(std::move(input.storage_classes))),
      csi_nodes_(in_order(std::move(input.csi_nodes))),
      resource_claims_(in_order(std::move(input.resource_claims))),
      quantities_(quantities) {
  take_nodes(std::move(input.nodes));
  take_pods(std::move(input.pods));
  take_namespaces(std::move(input.namespaces));
  take_pdbs(std::move(input.pdbs));
  for (const auto& workload : workloads_) workload_by_uid_.emplace(workload->meta.uid, workload.get());
  find_owner_cycles(workloads_, problems_);
}

bool ClusterSnapshot::replace(std::shared_ptr<const api::Pod> pod) {
  const auto index = find_pod(pod->meta.ns, pod->meta.name);
  if (!index || !stands_in_the_same_place(*pods_[*index].object, *pod)) return false;
  PodEntry& entry = pods_[*index];
  if (entry.terminal && !pod->is_terminal()) return false;
  if (entry.strange || has_strange_quantities(*pod)) return false;
  count(*index, -1);
  replaced_.push_back(std::exchange(entry.object, std::move(pod)));
  entry.terminal = entry.object->is_terminal();
  entry.terminating = entry.object->meta.is_terminating();
  entry.requests = intern_requests(*entry.object);
  count(*index, 1);
  return true;
}

bool ClusterSnapshot::replace(std::shared_ptr<const api::Node> node) {
  const auto index = find_node(node->meta.name);
  if (!index || nodes_[*index]->meta.uid != node->meta.uid || nodes_[*index]->allocatable != node->allocatable)
    return false;
  if (may_have_other_problems(*nodes_[*index]) || may_have_other_problems(*node)) return false;
  replaced_.push_back(std::exchange(nodes_[*index], std::move(node)));
  return true;
}

bool ClusterSnapshot::replace(std::shared_ptr<const api::PodDisruptionBudget> pdb) {
  const auto at = position_in(pdbs_, pdb->meta.ns, pdb->meta.name);
  if (at == pdbs_.end()) return false;
  replaced_.push_back(std::exchange(*at, std::move(pdb)));
  return true;
}

void ClusterSnapshot::take_nodes(SnapshotInput::List<api::Node> nodes) {
  nodes_ = in_order(std::move(nodes));
  for (auto& node : nodes_) {
    auto sound = with_sound_quantities(node, quantities_, problems_);
    mended_ = mended_ || sound != node;
    node = std::move(sound);
  }
  allocatable_ = NodeResources(nodes_.size());
  used_ = NodeResources(nodes_.size());
  node_by_name_.reserve(nodes_.size());
  for (const NodeIndex node : this->nodes()) {
    node_by_name_.emplace(nodes_[node]->meta.name, node);
    for (const auto& [name, quantity] : nodes_[node]->allocatable) {
      allocatable_.add(node, resources_.intern(name), quantity.milli());
    }
  }
}

void ClusterSnapshot::take_pods(SnapshotInput::List<api::Pod> pods) {
  pods = in_order(std::move(pods));
  std::vector<NodeIndex> placed(pods.size(), kNoNode);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (!pods[i]->node_name.empty()) placed[i] = find_node(pods[i]->node_name.value).value_or(kNoNode);
  }
  number_pods(pods, placed);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    PodEntry& entry = pods_[by_name_[i]];
    entry.object = std::move(pods[i]);
    entry.node = placed[i];
    entry.terminal = entry.object->is_terminal();
    note_strange_pod(by_name_[i]);
    entry.terminating = entry.object->meta.is_terminating();
  }
  derive_namespaces();
  derive_label_groups();
  for (const PodIndex pod : this->pods()) {
    pods_[pod].requests = intern_requests(*pods_[pod].object);
    intern_owners(pod);
    count(pod, 1);
  }
  derive_anti_affinity();
}

void ClusterSnapshot::note_strange_pod(PodIndex pod) {
  PodEntry& entry = pods_[pod];
  const std::int64_t before = problems_.total();
  auto sound = with_sound_quantities(entry.object, quantities_, problems_);
  mended_ = mended_ || sound != entry.object;
  entry.object = std::move(sound);
  const std::string& node = entry.object->node_name.value;
  if (entry.node == kNoNode && !node.empty() && !entry.terminal) {
    problems_.add({"Pod " + entry.object->meta.key().to_string(), "spec.nodeName",
                   "names the node \"" + node + "\", which does not exist: the pod is left alone"});
  }
  entry.strange = problems_.total() > before;
}

/// Counting sort by node; within a node the order by name stays.
void ClusterSnapshot::number_pods(const SnapshotInput::List<api::Pod>& pods, const std::vector<NodeIndex>& placed) {
  const auto slot = [&](std::size_t i) { return std::min<std::size_t>(placed[i], nodes_.size()); };
  std::vector<PodIndex> next(nodes_.size() + 2, 0);
  for (std::size_t i = 0; i < pods.size(); ++i) ++next[slot(i) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  first_pod_.assign(next.begin(), next.end() - 1);
  by_name_.resize(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) by_name_[i] = next[slot(i)]++;
  pods_.resize(pods.size());
}

void ClusterSnapshot::derive_namespaces() {
  for (std::uint32_t i = 0; i < by_name_.size(); ++i) {
    PodEntry& entry = pods_[by_name_[i]];
    if (i == 0 || entry.object->meta.ns != namespaces_.back().name) {
      intern_namespace(entry.object->meta.ns);
      namespaces_.back().first = i;
    }
    namespaces_.back().last = i + 1;
    entry.ns = static_cast<NamespaceIndex>(namespaces_.size() - 1);
  }
}

/// Equal label maps share their storage when they come from the decoder, so the address is enough to tell them apart;
/// maps that are equal and do not share only make one group more.
void ClusterSnapshot::derive_label_groups() {
  const auto storage_of = [this](PodIndex pod) { return this->pod(pod).meta.labels.begin(); };
  by_labels_ = by_name_;
  std::unordered_map<const api::StringMap::Entry*, std::uint32_t> seen;  // address → order of first sight
  std::vector<std::uint32_t> rank(pods_.size());
  for (NamespaceEntry& ns : namespaces_) {
    seen.clear();
    const std::span members(by_labels_.data() + ns.first, ns.last - ns.first);
    for (const PodIndex pod : members) {
      rank[pod] = seen.try_emplace(storage_of(pod), static_cast<std::uint32_t>(seen.size())).first->second;
    }
    std::ranges::stable_sort(members, {}, [&](PodIndex pod) { return rank[pod]; });
    ns.first_group = static_cast<std::uint32_t>(groups_.size());
    for (std::size_t first = 0, last = 0; first < members.size(); first = last) {
      while (last < members.size() && rank[members[last]] == rank[members[first]]) {
        pods_[members[last++]].label_group = static_cast<std::uint32_t>(groups_.size());
      }
      groups_.push_back({&pod(members[first]).meta.labels, members.subspan(first, last - first)});
    }
    ns.last_group = static_cast<std::uint32_t>(groups_.size());
  }
}

std::size_t ClusterSnapshot::RequestSetHash::operator()(const RequestSet& set) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto& [resource, milli] : set) {
    hash = (hash ^ resource) * 0x100000001b3;
    hash = (hash ^ static_cast<std::uint64_t>(milli)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

std::uint32_t ClusterSnapshot::intern_requests(const api::Pod& pod) {
  effective_requests(pod, resources_, asked_);
  const auto [at, added] = known_requests_.try_emplace(asked_, static_cast<std::uint32_t>(request_sets_.size()));
  if (added) request_sets_.push_back(asked_);
  return at->second;
}

/// Adds (1) or takes away (-1) what the pod holds of its node and is for its owners.
void ClusterSnapshot::count(PodIndex pod, int sign) {
  const PodEntry& entry = pods_[pod];
  if (entry.terminal) return;
  if (entry.node != kNoNode) {
    const RequestSet& requests = request_sets_[entry.requests];
    if (sign > 0) used_.add(entry.node, requests);
    if (sign < 0) used_.subtract(entry.node, requests);
    used_.add(entry.node, kPodsIndex, 1000 * sign);
  }
  if (entry.object->meta.is_terminating()) return;
  for_each_owner(*entry.object, [&](const std::string& uid) {
    living_owner_pods_[owner_by_uid_.at(uid)] += static_cast<std::uint32_t>(sign);
  });
}

/// Labels and affinities that are equal share their storage when they come from the decoder, so addresses tell the
/// kinds apart; kinds are numbered as they are met.
void ClusterSnapshot::derive_anti_affinity() {
  std::map<std::tuple<NamespaceIndex, const void*, const void*>, std::vector<PodIndex>> kinds;
  std::vector<std::vector<PodIndex>*> in_order;
  for (const PodIndex pod : pods()) {
    const api::Pod& object = this->pod(pod);
    if (!object.affinity) continue;
    if (is_choosy(*object.affinity)) choosy_.push_back(pod);
    if (!is_active(pod) || object.affinity->required_pod_anti_affinity.empty()) continue;
    std::vector<PodIndex>& kind = kinds[{pods_[pod].ns, object.meta.labels.begin(), object.affinity.get()}];
    if (kind.empty()) in_order.push_back(&kind);
    kind.push_back(pod);
  }
  for (const std::vector<PodIndex>* kind : in_order) add_anti_affine(*kind);
}

void ClusterSnapshot::add_anti_affine(const AntiAffineGroup& kind) {
  std::set<NamespaceIndex> named;
  bool by_labels = false;
  const PodIndex pod = kind.front();
  for (const api::PodAffinityTerm& term : this->pod(pod).affinity->required_pod_anti_affinity) {
    by_labels = by_labels || term.namespace_selector;
    for (const std::string& name : term.namespaces) named.insert(intern_namespace(name));
    if (!term.namespace_selector && term.namespaces.empty()) named.insert(pods_[pod].ns);
  }
  if (by_labels) anti_affine_by_labels_.push_back(kind);
  for (const NamespaceIndex ns : named) namespaces_[ns].anti_affine.push_back(kind);
}

void ClusterSnapshot::intern_owners(PodIndex pod) {
  PodEntry& entry = pods_[pod];
  for_each_owner(*entry.object, [&](const std::string& uid) {
    const auto [at, added] = owner_by_uid_.try_emplace(uid, static_cast<std::uint32_t>(owner_pods_.size()));
    if (added) owner_pods_.push_back(0);
    if (added) living_owner_pods_.push_back(0);
    ++owner_pods_[at->second];
    if (entry.owner == kNoOwner) entry.owner = at->second;
  });
}

void ClusterSnapshot::take_namespaces(SnapshotInput::List<api::Namespace> namespaces) {
  namespace_objects_ = in_order(std::move(namespaces));
  for (const auto& object : namespace_objects_) {
    namespaces_[intern_namespace(object->meta.name)].object = object.get();
  }
}

void ClusterSnapshot::take_pdbs(SnapshotInput::List<api::PodDisruptionBudget> pdbs) {
  pdbs_ = in_order(std::move(pdbs));
  for (std::uint32_t i = 0; i < pdbs_.size(); ++i) {
    namespaces_[intern_namespace(pdbs_[i]->meta.ns)].pdbs.push_back(i);
  }
}

NamespaceIndex ClusterSnapshot::intern_namespace(std::string_view name) {
  const auto [at, added] = namespace_by_name_.try_emplace(name, static_cast<NamespaceIndex>(namespaces_.size()));
  if (added) namespaces_.emplace_back().name = name;
  return at->second;
}

std::optional<NodeIndex> ClusterSnapshot::find_node(std::string_view name) const {
  const auto at = node_by_name_.find(name);
  return at == node_by_name_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<NamespaceIndex> ClusterSnapshot::find_namespace(std::string_view name) const {
  const auto at = namespace_by_name_.find(name);
  return at == namespace_by_name_.end() ? std::nullopt : std::optional(at->second);
}

std::span<const PodIndex> ClusterSnapshot::pods_in(NamespaceIndex ns) const {
  const NamespaceEntry& entry = namespaces_[ns];
  return std::span(by_name_).subspan(entry.first, entry.last - entry.first);
}

std::span<const ClusterSnapshot::LabelGroup> ClusterSnapshot::label_groups(NamespaceIndex ns) const {
  const NamespaceEntry& entry = namespaces_[ns];
  return std::span(groups_).subspan(entry.first_group, entry.last_group - entry.first_group);
}

std::optional<PodIndex> ClusterSnapshot::find_pod(std::string_view ns, std::string_view name) const {
  const auto found = find_namespace(ns);
  if (!found) return std::nullopt;
  const auto pods = pods_in(*found);
  const auto name_of = [this](PodIndex pod) -> std::string_view { return this->pod(pod).meta.name; };
  const auto at = std::ranges::lower_bound(pods, name, {}, name_of);
  return at == pods.end() || name_of(*at) != name ? std::nullopt : std::optional(*at);
}

std::uint32_t ClusterSnapshot::siblings(PodIndex pod) const {
  const std::uint32_t owner = pods_[pod].owner;
  return owner == kNoOwner ? 0 : owner_pods_[owner];
}

std::uint32_t ClusterSnapshot::living_siblings(PodIndex pod) const {
  const std::uint32_t owner = pods_[pod].owner;
  return owner == kNoOwner ? 0 : living_owner_pods_[owner];
}

const api::PriorityClass* ClusterSnapshot::find_priority_class(std::string_view name) const {
  return find_in(priority_classes_, "", name);
}

const api::PersistentVolumeClaim* ClusterSnapshot::find_claim(std::string_view ns, std::string_view name) const {
  return find_in(claims_, ns, name);
}

const api::PersistentVolume* ClusterSnapshot::find_volume(std::string_view name) const {
  return find_in(volumes_, "", name);
}

const api::StorageClass* ClusterSnapshot::find_storage_class(std::string_view name) const {
  return find_in(storage_classes_, "", name);
}

const api::StorageClass* ClusterSnapshot::default_storage_class() const {
  const auto at = std::ranges::find_if(storage_classes_, [](const auto& each) { return each->is_default; });
  return at == storage_classes_.end() ? nullptr : at->get();
}

const api::CsiNode* ClusterSnapshot::find_csi_node(std::string_view node) const {
  return find_in(csi_nodes_, "", node);
}

const api::ResourceClaim* ClusterSnapshot::find_resource_claim(std::string_view ns, std::string_view name) const {
  return find_in(resource_claims_, ns, name);
}

std::vector<const api::PersistentVolume*> ClusterSnapshot::free_volumes(std::string_view storage_class) const {
  std::vector<const api::PersistentVolume*> found;
  for (const auto& volume : volumes_) {
    if (!volume->is_claimed && volume->storage_class == storage_class) found.push_back(volume.get());
  }
  return found;
}

const api::Workload* ClusterSnapshot::find_workload(std::string_view uid) const {
  const auto at = workload_by_uid_.find(uid);
  return at == workload_by_uid_.end() ? nullptr : at->second;
}

}  // namespace scheduling
