#include "planner/snapshot/update.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/core/terms/pod_bounds.hpp"
#include "planner/snapshot/matching.hpp"
#include "planner/snapshot/object_order.hpp"

namespace scheduling {
namespace {

/// Calls `each` once with the uid of every owner.
template <typename F>
void for_each_owner(const api::Pod& pod, F&& each) {
  const auto& owners = pod.meta.owner_references;
  for (auto owner = owners.begin(); owner != owners.end(); ++owner) {
    if (std::ranges::find(owners.begin(), owner, owner->uid, &api::OwnerReference::uid) == owner) each(owner->uid);
  }
}

/// Returns the uid of the pod's controller, or of its first owner if no owner is the controller. Returns nullptr if
/// there is no owner or it has no uid.
const std::string* main_owner_uid(const api::Pod& pod) {
  const auto& owners = pod.meta.owner_references;
  if (owners.empty()) return nullptr;
  const auto controls = std::ranges::find(owners, true, &api::OwnerReference::controller);
  const std::string& uid = controls == owners.end() ? owners.front().uid : controls->uid;
  return uid.empty() ? nullptr : &uid;
}

bool has_pod_affinity(const api::Affinity& affinity) {
  return !affinity.required_pod_affinity.empty() || !affinity.preferred_pod_affinity.empty() ||
         !affinity.preferred_pod_anti_affinity.empty();
}

std::shared_ptr<const api::Pod> limited(api::Pod pod) {
  api::limit_lists(pod);
  return std::make_shared<const api::Pod>(std::move(pod));
}

}  // namespace

/// Returns true if a full rebuild costs less than applying this number of changes.
bool ClusterSnapshot::Update::is_rebuild_cheaper(std::size_t changes, std::size_t pods) {
  constexpr std::size_t kFew = 16;
  constexpr std::size_t kPodsForOneChange = 8;
  return changes > kFew && changes * kPodsForOneChange > pods;
}

void ClusterSnapshot::Update::remove(const api::ObjectMeta& pod) {
  const auto known = find(pod);
  if (!known) return;
  forget_problems_of(cluster_.pods_[*known].object);
  withdraw(*known);
}

void ClusterSnapshot::Update::take(const std::shared_ptr<const api::Pod>& pod) {
  const NodeIndex node = node_for(*pod);
  if (const auto known = find(pod->meta)) {
    const PodEntry& entry = cluster_.pods_[*known];
    forget_problems_of(entry.object);
    // Compares labels by address, because equal label maps share their storage (see form_groups()).
    const bool stays = entry.node == node && entry.object->meta.labels.begin() == pod->meta.labels.begin();
    if (stays) return replace_object(*known, admit(pod, node));
    withdraw(*known);
  }
  insert({admit(pod, node), node});
}

void ClusterSnapshot::Update::rebuild(const Pods& gone, const Pods& now) {
  const auto drop = [this](const api::ObjectMeta& meta) {
    const auto known = find(meta);
    if (!known) return;
    forget_problems_of(cluster_.pods_[*known].object);
    cluster_.is_taken_[*known] = 0;
  };
  for (const auto& pod : gone) drop(pod->meta);
  std::vector<NewPod> coming;
  for (const auto& pod : now) {
    drop(pod->meta);
    const NodeIndex node = node_for(*pod);
    coming.push_back({admit(pod, node), node});
  }
  std::vector<NewPod> staying = extract_remaining_pods();
  std::vector<NewPod> pods;
  pods.reserve(staying.size() + coming.size());
  const auto as_moved = [](auto at) { return std::make_move_iterator(at); };
  std::merge(as_moved(staying.begin()), as_moved(staying.end()), as_moved(coming.begin()), as_moved(coming.end()),
             std::back_inserter(pods),
             [](const NewPod& a, const NewPod& b) { return comes_before(a.object->meta, b.object->meta); });
  forget_pods();
  const std::vector<PodIndex> number = number_all(pods);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    PodEntry& entry = cluster_.pods_[number[i]];
    entry.object = std::move(pods[i].object);
    entry.node = pods[i].node;
    entry.ns = cluster_.intern_namespace(entry.object->meta.ns);
    cluster_.namespaces_[entry.ns].pods.push_back(number[i]);
  }
  for (PodEntry& entry : cluster_.pods_) {
    describe(entry);
    add_to_owners(entry);
  }
  for (NamespaceEntry& ns : cluster_.namespaces_) form_groups(ns);
}

void ClusterSnapshot::Update::finish() {
  if (std::exchange(terms_due_, false)) limit_terms();
  if (order_due_) sort_namespaces();
  if (order_due_ || groups_due_) number_groups();
  std::ranges::sort(nodes_);
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  for (const NodeIndex node : nodes_) recompute_sums(node);
  if (std::exchange(namespaces_due_, false)) derive_namespaces();
  if (problems_due_) report_problems();
  if (is_sparse()) spread();
}

// --- Single pods

NodeIndex ClusterSnapshot::Update::node_for(const api::Pod& pod) const {
  return pod.node_name.empty() ? kNoNode : cluster_.find_node(pod.node_name.value).value_or(kNoNode);
}

/// Position of the pod among the pods of its namespace, or the position at which to insert it.
std::uint32_t ClusterSnapshot::Update::position_of(const api::ObjectMeta& meta, const NamespaceEntry& ns) const {
  const auto meta_of_pod = [this](PodIndex pod) -> const api::ObjectMeta& { return meta_of(pod); };
  const auto at = std::ranges::lower_bound(ns.pods, meta, comes_before, meta_of_pod);
  return static_cast<std::uint32_t>(at - ns.pods.begin());
}

std::vector<PodIndex>::iterator ClusterSnapshot::Update::place_in(NamespaceEntry& ns, PodIndex pod) const {
  return std::find(ns.pods.begin() + position_of(meta_of(pod), ns), ns.pods.end(), pod);
}

std::optional<PodIndex> ClusterSnapshot::Update::find(const api::ObjectMeta& meta) const {
  const auto found = cluster_.find_namespace(meta.ns);
  if (!found) return std::nullopt;
  const NamespaceEntry& ns = cluster_.namespaces_[*found];
  const std::uint32_t position = position_of(meta, ns);
  if (position == ns.pods.size()) return std::nullopt;
  const api::ObjectMeta& there = meta_of(ns.pods[position]);
  return there.name == meta.name && there.uid == meta.uid ? std::optional(ns.pods[position]) : std::nullopt;
}

void ClusterSnapshot::Update::insert(NewPod pod) {
  const api::ObjectMeta& meta = pod.object->meta;
  const NamespaceIndex number = cluster_.intern_namespace(meta.ns);
  const PodIndex index = open_place(pod.node, meta);
  NamespaceEntry& ns = cluster_.namespaces_[number];
  const std::uint32_t position = position_of(meta, ns);
  PodEntry& entry = cluster_.pods_[index];
  cluster_.is_taken_[index] = 1;
  ++cluster_.pod_count_;
  entry.object = std::move(pod.object);
  entry.node = pod.node;
  entry.ns = number;
  ns.pods.insert(ns.pods.begin() + position, index);
  if (ns.pods.size() == 1) order_due_ = true;
  describe(entry);
  add_to_owners(entry);
  join_group(index);
  add_to_affinity_index(index);
  touch(entry);
}

/// Removes the pod and frees its number.
void ClusterSnapshot::Update::withdraw(PodIndex pod) {
  PodEntry& entry = cluster_.pods_[pod];
  NamespaceEntry& ns = cluster_.namespaces_[entry.ns];
  touch(entry);
  count_terms(entry, -1);
  remove_from_affinity_index(pod);
  leave_group(pod);
  remove_from_owners(entry);
  ns.pods.erase(place_in(ns, pod));
  if (ns.pods.empty()) order_due_ = true;
  entry = {};
  cluster_.is_taken_[pod] = 0;
  --cluster_.pod_count_;
}

/// Returns the pod as the snapshot stores it, with quantities corrected and overlong lists truncated. Records pods with
/// problems.
std::shared_ptr<const api::Pod> ClusterSnapshot::Update::admit(const std::shared_ptr<const api::Pod>& pod,
                                                               NodeIndex node) {
  const bool is_strange = has_unsound_quantities(*pod);
  const bool is_too_long = api::exceeds_list_limits(*pod);
  if (is_strange || is_too_long || !pod->oversized.empty() || is_lost(*pod, node)) {
    cluster_.pods_with_problems_.insert(pod);
    problems_due_ = true;
  }
  InputProblems ignored_problems;
  const auto admitted = is_strange ? with_sound_quantities(pod, cluster_.quantities_, ignored_problems) : pod;
  return is_too_long ? limited(*admitted) : admitted;
}

void ClusterSnapshot::Update::forget_problems_of(const std::shared_ptr<const api::Pod>& pod) {
  if (cluster_.pods_beyond_term_limits_.erase(pod) > 0) problems_due_ = terms_due_ = true;
  const auto at = cluster_.pods_with_problems_.find(pod);
  if (at == cluster_.pods_with_problems_.end()) return;
  cluster_.pods_with_problems_.erase(at);
  problems_due_ = true;
}

bool ClusterSnapshot::Update::is_lost(const api::Pod& pod, NodeIndex node) {
  return node == kNoNode && !pod.node_name.empty() && !pod.is_terminal();
}

void ClusterSnapshot::Update::replace_object(PodIndex pod, std::shared_ptr<const api::Pod> object) {
  PodEntry& entry = cluster_.pods_[pod];
  const bool keeps_affinity = entry.object->affinity == object->affinity && entry.terminal == object->is_terminal();
  if (!keeps_affinity) remove_from_affinity_index(pod);
  const auto released_later = entry.object;
  count_terms(entry, -1);
  remove_from_owners(entry);
  entry.object = std::move(object);
  describe(entry);
  add_to_owners(entry);
  if (!keeps_affinity) add_to_affinity_index(pod);
  touch(entry);
  LabelGroup& group = cluster_.namespaces_[entry.ns].groups[entry.group];
  if (group.pods.front() == pod) group.labels = &entry.object->meta.labels;
}

/// Fills the fields that depend only on the pod's object.
void ClusterSnapshot::Update::describe(PodEntry& entry) {
  const api::Pod& pod = *entry.object;
  entry.created = pod.meta.creation_timestamp;
  entry.images = intern_images(pod);
  entry.terminal = pod.is_terminal();
  entry.terminating = pod.meta.is_terminating();
  entry.has_pod_affinity = pod.affinity && has_pod_affinity(*pod.affinity);
  entry.is_anti_affine = pod.affinity && !pod.affinity->required_pod_anti_affinity.empty();
  entry.is_daemon_set = pod.is_daemon_set();
  entry.is_mirror = pod.is_mirror();
  entry.has_host_ports = asks_for_host_ports(pod);
  pod_requests(pod, cluster_.resources_, asked_);
  entry.requests = entry.held = intern_asked();
  count_terms(entry, 1);
  if (!is_being_resized(pod)) return;
  pod_requests(pod, cluster_.resources_, asked_, RequestsOf::kRunningPod);
  entry.held = intern_asked();
}

/// Returns the number of the request set in asked_.
std::uint32_t ClusterSnapshot::Update::intern_asked() {
  auto& sets = cluster_.request_sets_;
  const auto [at, is_new] = cluster_.known_requests_.try_emplace(asked_, static_cast<std::uint32_t>(sets.size()));
  if (is_new) sets.push_back(asked_);
  return at->second;
}

std::uint32_t ClusterSnapshot::Update::intern_images(const api::Pod& pod) {
  images_.clear();
  for (const api::Container& container : pod.containers) images_.push_back(container.image);
  std::ranges::sort(images_);
  joined_images_.clear();
  for (const std::string_view image : images_)
    joined_images_.append(std::to_string(image.size())).append(":").append(image);
  auto& known = cluster_.known_images_;
  if (const auto at = known.find(joined_images_); at != known.end()) return at->second;
  return known.emplace(joined_images_, static_cast<std::uint32_t>(known.size())).first->second;
}

std::uint32_t ClusterSnapshot::Update::intern_owner(const std::string& uid) {
  if (const auto at = cluster_.owner_by_uid_.find(uid); at != cluster_.owner_by_uid_.end()) return at->second;
  if (cluster_.free_owners_.empty()) {
    cluster_.free_owners_.push_back(static_cast<std::uint32_t>(cluster_.owner_pods_.size()));
    cluster_.owner_pods_.push_back(0);
    cluster_.living_owner_pods_.push_back(0);
  }
  const std::uint32_t owner = cluster_.free_owners_.back();
  cluster_.free_owners_.pop_back();
  cluster_.owner_by_uid_.emplace(uid, owner);
  return owner;
}

void ClusterSnapshot::Update::add_to_owners(PodEntry& entry) {
  entry.owner = entry.main_owner = kNoOwner;
  const std::string* const main_uid = main_owner_uid(*entry.object);
  for_each_owner(*entry.object, [&](const std::string& uid) {
    const std::uint32_t owner = intern_owner(uid);
    ++cluster_.owner_pods_[owner];
    if (is_staying(entry)) ++cluster_.living_owner_pods_[owner];
    if (entry.owner == kNoOwner) entry.owner = owner;
    if (main_uid != nullptr && uid == *main_uid) entry.main_owner = owner;
  });
}

void ClusterSnapshot::Update::remove_from_owners(const PodEntry& entry) {
  for_each_owner(*entry.object, [&](const std::string& uid) {
    const auto at = cluster_.owner_by_uid_.find(uid);
    if (is_staying(entry)) --cluster_.living_owner_pods_[at->second];
    if (--cluster_.owner_pods_[at->second] > 0) return;
    cluster_.free_owners_.push_back(at->second);
    cluster_.owner_by_uid_.erase(at);
  });
}

void ClusterSnapshot::Update::touch(const PodEntry& entry) {
  if (entry.node != kNoNode && (nodes_.empty() || nodes_.back() != entry.node)) nodes_.push_back(entry.node);
}

// --- Data shared by many pods

/// Recomputes the resources that the active pods on the node hold.
void ClusterSnapshot::Update::recompute_sums(NodeIndex node) {
  cluster_.used_.clear(node);
  cluster_.scored_.clear(node);
  for (const PodIndex pod : cluster_.pods_on(node)) {
    if (!cluster_.is_active(pod)) continue;
    cluster_.used_.add(node, cluster_.held(pod).amounts);
    cluster_.scored_.add(node, cluster_.held(pod).scored);
    cluster_.used_.add(node, kPodsIndex, 1000);
  }
}

void ClusterSnapshot::Update::report_problems() {
  cluster_.problems_ = cluster_.node_problems_;
  cluster_.fixed_ = cluster_.nodes_ != cluster_.objects_.nodes;
  for (const auto& pod : cluster_.pods_with_problems_) {
    const auto sound = with_sound_quantities(pod, cluster_.quantities_, cluster_.problems_);
    cluster_.fixed_ = cluster_.fixed_ || sound != pod;
    report_oversized(api::exceeds_list_limits(*pod) ? *limited(*pod) : *pod, cluster_.problems_);
    const std::string& node = pod->node_name.value;
    if (!is_lost(*pod, cluster_.find_node(node).value_or(kNoNode))) continue;
    cluster_.problems_.add({"Pod " + pod->meta.key().to_string(), "spec.nodeName",
                            "names the node \"" + node + "\", which does not exist: the pod is ignored"});
  }
  report_crowded();
  find_owner_cycles(cluster_.objects_.workloads, cluster_.problems_);
}

}  // namespace scheduling
