#include "planner/snapshot/cluster_snapshot.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/snapshot/matching.hpp"
#include "planner/snapshot/update.hpp"

namespace scheduling {
namespace {

bool is_strange_node(const std::shared_ptr<const api::Node>& node) {
  InputProblems told;
  with_sound_quantities(node, Quantities::kAsWritten, told);
  return told.total() > 0;
}

bool is_another_state(const std::shared_ptr<const api::Node>& before, const std::shared_ptr<const api::Node>& now) {
  return now && before->meta.name == now->meta.name && before->meta.uid == now->meta.uid &&
         before->allocatable == now->allocatable && !is_strange_node(before) && !is_strange_node(now);
}

/// Calls `each` with the list of every kind except pods and nodes, as a member of SnapshotInput.
template <typename F>
void for_each_kind(F&& each) {
  using In = SnapshotInput;
  const auto call = [&](auto... lists) { (each(lists), ...); };
  call(&In::pdbs, &In::namespaces, &In::priority_classes, &In::claims, &In::volumes, &In::workloads,
       &In::storage_classes, &In::csi_nodes, &In::resource_claims, &In::volume_attachments, &In::csi_drivers,
       &In::storage_capacities, &In::pod_groups);
}

}  // namespace

ClusterSnapshot::ClusterSnapshot(SnapshotInput input, Quantities quantities)
    : objects_(std::move(input)), quantities_(quantities) {
  for_each_kind([&](auto list) { objects_.*list = in_order(std::move(objects_.*list)); });
  take_nodes();
  sort_attachments();
  sort_volumes();
  index_workloads();
  Update update(*this);
  update.namespaces_are_due();
  update.problems_are_due();
  update.rebuild({}, in_order(std::exchange(objects_.pods, {})));
  update.finish();
}

void ClusterSnapshot::apply(PodChanges changes) {
  const auto gone = in_order(std::move(changes.gone));
  const auto now = in_order(std::move(changes.now));
  Update update(*this);
  if (Update::is_rebuild_cheaper(gone.size() + now.size(), pod_count_)) {
    update.rebuild(gone, now);
  } else {
    for (const auto& pod : gone) update.remove(pod->meta);
    for (const auto& pod : now) update.take(pod);
  }
  update.finish();
}

bool ClusterSnapshot::update_others(const SnapshotInput& now) {
  if (objects_.nodes != now.nodes && !take_states(now.nodes)) return false;
  const bool are_volumes_new = objects_.volumes != now.volumes;
  const bool are_attachments_new = objects_.volume_attachments != now.volume_attachments;
  const bool are_workloads_new = objects_.workloads != now.workloads;
  const bool are_namespaces_new = objects_.namespaces != now.namespaces;
  const bool are_pdbs_new = objects_.pdbs != now.pdbs;
  const auto pdbs = are_pdbs_new ? objects_.pdbs : SnapshotInput::List<api::PodDisruptionBudget>();
  for_each_kind([&](auto list) {
    if (objects_.*list != now.*list) objects_.*list = in_order(now.*list);
  });
  if (are_volumes_new) sort_volumes();
  if (are_attachments_new) sort_attachments();
  if (are_workloads_new) index_workloads();
  Update update(*this);
  if (are_workloads_new) update.problems_are_due();
  if (are_namespaces_new || (are_pdbs_new && !have_same_names(pdbs, objects_.pdbs))) update.namespaces_are_due();
  update.finish();
  return true;
}

/// Replaces the nodes by newer states. Returns false and changes nothing if there are other changes than of state.
bool ClusterSnapshot::take_states(const SnapshotInput::List<api::Node>& nodes) {
  const auto is_state = [](const auto& before, const auto& now) {
    return before == now || is_another_state(before, now);
  };
  if (!std::ranges::equal(objects_.nodes, nodes, is_state)) return false;
  for (const NodeIndex node : this->nodes()) {
    if (objects_.nodes[node] != nodes[node]) nodes_[node] = objects_.nodes[node] = nodes[node];
  }
  find_schedulable_nodes();
  return true;
}

void ClusterSnapshot::take_nodes() {
  nodes_ = objects_.nodes = in_order(std::move(objects_.nodes));
  for (auto& node : nodes_) node = with_sound_quantities(node, quantities_, node_problems_);
  allocatable_ = NodeResources(nodes_.size());
  used_ = NodeResources(nodes_.size());
  scored_ = ScoredSums(nodes_.size());
  first_pod_.assign(nodes_.size() + 2, 0);
  node_by_name_.reserve(nodes_.size());
  for (const NodeIndex node : this->nodes()) {
    node_by_name_.emplace(nodes_[node]->meta.name, node);
    for (const auto& [name, quantity] : nodes_[node]->allocatable) {
      allocatable_.add(node, resources_.intern(name), quantity.milli());
    }
  }
  find_schedulable_nodes();
}

void ClusterSnapshot::find_schedulable_nodes() {
  using enum api::TaintEffect;
  const auto is_schedulable = [](const std::shared_ptr<const api::Node>& node) {
    return !node->unschedulable && accepts_pods(*node) &&
           first_untolerated({}, node->taints, {kNoSchedule, kNoExecute}) == nullptr;
  };
  schedulable_by_all_.resize(nodes_.size());
  std::transform(nodes_.begin(), nodes_.end(), schedulable_by_all_.begin(), is_schedulable);
}

void ClusterSnapshot::index_workloads() {
  workload_by_uid_.clear();
  for (const auto& workload : objects_.workloads) workload_by_uid_.emplace(workload->meta.uid, workload.get());
}

void ClusterSnapshot::sort_attachments() {
  attachments_.clear();
  if (objects_.volume_attachments.empty()) return;
  attachments_.resize(node_count());
  for (const auto& each : objects_.volume_attachments) {
    if (const auto node = find_node(each->node)) attachments_[*node].push_back(each.get());
  }
}

void ClusterSnapshot::sort_volumes() {
  free_volumes_.clear();
  kept_volumes_.clear();
  for (const auto& volume : objects_.volumes) {
    VolumesByText& all = volume->is_claimed ? kept_volumes_ : free_volumes_;
    all[volume->is_claimed ? volume->claim.to_string() : volume->storage_class].push_back(volume.get());
  }
}

std::size_t ClusterSnapshot::RequestSetHash::operator()(const PodRequests& set) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t what, std::int64_t milli) {
    hash = (hash ^ what) * 0x100000001b3;
    hash = (hash ^ static_cast<std::uint64_t>(milli)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (const auto& [resource, milli] : set.amounts) mix(resource, milli);
  mix(kDenseResources, set.scored.cpu);
  mix(kDenseResources, set.scored.memory);
  return static_cast<std::size_t>(hash);
}

NamespaceIndex ClusterSnapshot::intern_namespace(std::string_view name) {
  if (const auto known = find_namespace(name)) return *known;
  const auto number = static_cast<NamespaceIndex>(namespaces_.size());
  namespaces_.emplace_back().name = namespace_by_name_.emplace(name, number).first->first;
  return number;
}

std::vector<PodIndex> ClusterSnapshot::pods_by_name() const {
  std::vector<PodIndex> pods;
  pods.reserve(pod_count_);
  for (const NamespaceEntry& ns : std::span(namespaces_).first(namespaces_with_pods_)) {
    pods.insert(pods.end(), ns.pods.begin(), ns.pods.end());
  }
  return pods;
}

std::optional<PodIndex> ClusterSnapshot::find_pod(std::string_view ns, std::string_view name) const {
  const auto found = find_namespace(ns);
  if (!found) return std::nullopt;
  const auto pods = pods_in(*found);
  const auto name_of = [this](PodIndex pod) -> std::string_view { return this->pod(pod).meta.name; };
  const auto at = std::ranges::lower_bound(pods, name, {}, name_of);
  return at == pods.end() || name_of(*at) != name ? std::nullopt : std::optional(*at);
}

const api::StorageClass* ClusterSnapshot::default_storage_class() const {
  const auto at = std::ranges::find_if(objects_.storage_classes, [](const auto& each) { return each->is_default; });
  return at == objects_.storage_classes.end() ? nullptr : at->get();
}

std::span<const api::PersistentVolume* const> ClusterSnapshot::free_volumes(std::string_view storage_class) const {
  const auto at = free_volumes_.find(storage_class);
  return at == free_volumes_.end() ? std::span<const api::PersistentVolume* const>() : at->second;
}

std::vector<const api::PersistentVolume*> ClusterSnapshot::volumes_kept_for(const api::ObjectKey& claim,
                                                                            std::string_view uid) const {
  std::vector<const api::PersistentVolume*> found;
  const auto at = kept_volumes_.find(claim.to_string());
  if (at == kept_volumes_.end()) return found;
  std::ranges::copy_if(at->second, std::back_inserter(found), [&](const api::PersistentVolume* volume) {
    return volume->claim_uid.empty() || volume->claim_uid == uid;
  });
  return found;
}

const api::Workload* ClusterSnapshot::find_workload(std::string_view uid) const {
  const auto at = workload_by_uid_.find(uid);
  return at == workload_by_uid_.end() ? nullptr : at->second;
}

}  // namespace scheduling
