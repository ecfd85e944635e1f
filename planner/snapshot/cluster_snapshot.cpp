#include "planner/snapshot/cluster_snapshot.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/snapshot/matching.hpp"
#include "planner/snapshot/object_order.hpp"
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

/// Returns true if the list has changed.
template <typename T>
bool take_list(SnapshotInput::List<T>& list, const SnapshotInput::List<T>& now) {
  if (list == now) return false;
  list = in_order(now);
  return true;
}

/// Returns true if the names of the objects have changed.
template <typename T>
bool take_named_list(SnapshotInput::List<T>& list, const SnapshotInput::List<T>& now) {
  if (list == now) return false;
  const auto before = std::exchange(list, in_order(now));
  return !have_same_names(before, list);
}

}  // namespace

ClusterSnapshot::ClusterSnapshot(SnapshotInput input, Quantities quantities)
    : pdbs_(in_order(std::move(input.pdbs))),
      namespace_objects_(in_order(std::move(input.namespaces))),
      priority_classes_(in_order(std::move(input.priority_classes))),
      claims_(in_order(std::move(input.claims))),
      volumes_(in_order(std::move(input.volumes))),
      storage_classes_(in_order(std::move(input.storage_classes))),
      csi_nodes_(in_order(std::move(input.csi_nodes))),
      resource_claims_(in_order(std::move(input.resource_claims))),
      pod_groups_(in_order(std::move(input.pod_groups))),
      volume_attachments_(in_order(std::move(input.volume_attachments))),
      csi_drivers_(in_order(std::move(input.csi_drivers))),
      storage_capacities_(in_order(std::move(input.storage_capacities))),
      quantities_(quantities) {
  take_nodes(std::move(input.nodes));
  sort_attachments();
  sort_volumes();
  take_workloads(std::move(input.workloads));
  Update update(*this);
  update.namespaces_are_due();
  update.problems_are_due();
  update.rebuild({}, in_order(std::move(input.pods)));
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
  if (given_nodes_ != now.nodes && !take_states(now.nodes)) return false;
  take_list(priority_classes_, now.priority_classes);
  take_list(claims_, now.claims);
  if (take_list(volumes_, now.volumes)) sort_volumes();
  take_list(storage_classes_, now.storage_classes);
  take_list(csi_nodes_, now.csi_nodes);
  take_list(resource_claims_, now.resource_claims);
  take_list(pod_groups_, now.pod_groups);
  take_list(csi_drivers_, now.csi_drivers);
  take_list(storage_capacities_, now.storage_capacities);
  if (take_list(volume_attachments_, now.volume_attachments)) sort_attachments();
  Update update(*this);
  if (workloads_ != now.workloads) {
    take_workloads(now.workloads);
    update.problems_are_due();
  }
  if (take_named_list(pdbs_, now.pdbs)) update.namespaces_are_due();
  if (take_list(namespace_objects_, now.namespaces)) update.namespaces_are_due();
  update.finish();
  return true;
}

/// Replaces the nodes by newer states. Returns false and changes nothing if there are other changes than of state.
bool ClusterSnapshot::take_states(const SnapshotInput::List<api::Node>& nodes) {
  const auto is_state = [](const auto& before, const auto& now) {
    return before == now || is_another_state(before, now);
  };
  if (!std::ranges::equal(given_nodes_, nodes, is_state)) return false;
  for (const NodeIndex node : this->nodes()) {
    if (given_nodes_[node] != nodes[node]) nodes_[node] = given_nodes_[node] = nodes[node];
  }
  find_schedulable_nodes();
  return true;
}

void ClusterSnapshot::take_nodes(SnapshotInput::List<api::Node> nodes) {
  given_nodes_ = nodes_ = in_order(std::move(nodes));
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

void ClusterSnapshot::take_workloads(SnapshotInput::List<api::Workload> workloads) {
  workloads_ = in_order(std::move(workloads));
  workload_by_uid_.clear();
  for (const auto& workload : workloads_) workload_by_uid_.emplace(workload->meta.uid, workload.get());
}

void ClusterSnapshot::sort_attachments() {
  attachments_.clear();
  if (volume_attachments_.empty()) return;
  attachments_.resize(node_count());
  for (const auto& each : volume_attachments_) {
    if (const auto node = find_node(each->node)) attachments_[*node].push_back(each.get());
  }
}

void ClusterSnapshot::sort_volumes() {
  free_volumes_.clear();
  kept_volumes_.clear();
  for (const auto& volume : volumes_) {
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

std::optional<NodeIndex> ClusterSnapshot::find_node(std::string_view name) const {
  const auto at = node_by_name_.find(name);
  return at == node_by_name_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<NamespaceIndex> ClusterSnapshot::find_namespace(std::string_view name) const {
  const auto at = namespace_by_name_.find(name);
  return at == namespace_by_name_.end() ? std::nullopt : std::optional(at->second);
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

std::optional<std::uint32_t> ClusterSnapshot::find_owner(std::string_view uid) const {
  const auto at = owner_by_uid_.find(uid);
  return at == owner_by_uid_.end() ? std::nullopt : std::optional(at->second);
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

const api::SchedulingPodGroup* ClusterSnapshot::find_pod_group(std::string_view ns, std::string_view name) const {
  return find_in(pod_groups_, ns, name);
}

const api::CsiDriver* ClusterSnapshot::find_csi_driver(std::string_view name) const {
  return find_in(csi_drivers_, "", name);
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
