#include "scheduling/snapshot/update.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "scheduling/predicates.hpp"
#include "scheduling/snapshot/object_order.hpp"

namespace scheduling {
namespace {

/// Calls `each` with the uid of every owner, once each.
template <typename F>
void for_each_owner(const api::Pod& pod, F&& each) {
  const auto& owners = pod.meta.owner_references;
  for (auto owner = owners.begin(); owner != owners.end(); ++owner) {
    if (std::ranges::find(owners.begin(), owner, owner->uid, &api::OwnerReference::uid) == owner) each(owner->uid);
  }
}

bool has_pod_affinity(const api::Affinity& affinity) {
  return !affinity.required_pod_affinity.empty() || !affinity.preferred_pod_affinity.empty() ||
         !affinity.preferred_pod_anti_affinity.empty();
}

}  // namespace

bool ClusterSnapshot::InOrder::operator()(const std::shared_ptr<const api::Pod>& a,
                                          const std::shared_ptr<const api::Pod>& b) const {
  return comes_before(a->meta, b->meta);
}

void ClusterSnapshot::Update::remove(const api::Pod& pod) {
  const NamePosition place = place_of(pod.meta);
  if (!place.is_known) return;
  forget_problems_of(cluster_.pods_[cluster_.by_name_[place.position]].object);
  leaving_.push_back(place.position);
  removed_ = leaving_.size();
}

void ClusterSnapshot::Update::take(const std::shared_ptr<const api::Pod>& pod) {
  const NodeIndex node = pod->node_name.empty() ? kNoNode : cluster_.find_node(pod->node_name.value).value_or(kNoNode);
  const NamePosition place = place_of(pod->meta);
  const std::span removed = std::span(leaving_).first(removed_);
  if (place.is_known && !std::ranges::binary_search(removed, place.position)) {
    const PodIndex index = cluster_.by_name_[place.position];
    const PodEntry& entry = cluster_.pods_[index];
    forget_problems_of(entry.object);
    // Label maps that are equal share their storage, see form_groups().
    const bool stays = entry.node == node && entry.object->meta.labels.begin() == pod->meta.labels.begin();
    if (stays) return renew(index, admit(pod, node));
    leaving_.push_back(place.position);
  }
  arriving_.push_back({admit(pod, node), node, place.position});
}

void ClusterSnapshot::Update::finish() {
  if (!leaving_.empty() || !arriving_.empty()) index_update();
  std::ranges::sort(nodes_);
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  for (const NodeIndex node : nodes_) sum_up(node);
  if (namespaces_due_) derive_namespaces();
  if (problems_due_) tell_problems();
}

// --- one pod

ClusterSnapshot::Update::NamePosition ClusterSnapshot::Update::place_of(const api::ObjectMeta& meta) const {
  const auto found = cluster_.find_namespace(meta.ns);
  const auto with_pods = std::span(cluster_.namespaces_).first(cluster_.namespaces_with_pods_);
  if (!found || *found >= with_pods.size()) {
    const auto next = std::ranges::lower_bound(with_pods, meta.ns, {}, &NamespaceEntry::name);
    const std::size_t position = next == with_pods.end() ? cluster_.by_name_.size() : next->first;
    return {static_cast<std::uint32_t>(position), false};
  }
  const auto key_of = [this](PodIndex pod) {
    const api::ObjectMeta& each = cluster_.pod(pod).meta;
    return std::tie(each.name, each.uid);
  };
  const auto pods = cluster_.pods_in(*found);
  const auto at = std::ranges::lower_bound(pods, std::tie(meta.name, meta.uid), {}, key_of);
  const auto position = with_pods[*found].first + static_cast<std::uint32_t>(at - pods.begin());
  return {position, at != pods.end() && key_of(*at) == std::tie(meta.name, meta.uid)};
}

/// The pod as the snapshot counts with it.
std::shared_ptr<const api::Pod> ClusterSnapshot::Update::admit(const std::shared_ptr<const api::Pod>& pod,
                                                               NodeIndex node) {
  const bool is_strange = has_strange_quantities(*pod);
  if (is_strange || is_lost(*pod, node)) {
    cluster_.strange_.insert(pod);
    problems_due_ = true;
  }
  InputProblems told_later;
  return is_strange ? with_sound_quantities(pod, cluster_.quantities_, told_later) : pod;
}

void ClusterSnapshot::Update::forget_problems_of(const std::shared_ptr<const api::Pod>& pod) {
  const auto at = cluster_.strange_.find(pod);
  if (at == cluster_.strange_.end()) return;
  cluster_.strange_.erase(at);
  problems_due_ = true;
}

bool ClusterSnapshot::Update::is_lost(const api::Pod& pod, NodeIndex node) {
  return node == kNoNode && !pod.node_name.empty() && !pod.is_terminal();
}

void ClusterSnapshot::Update::renew(PodIndex pod, std::shared_ptr<const api::Pod> object) {
  PodEntry& entry = cluster_.pods_[pod];
  const auto affinity = [&] {
    const bool counts = entry.is_anti_affine && !entry.terminal;
    return std::tuple(entry.has_pod_affinity, counts ? entry.object->affinity.get() : nullptr);
  };
  const auto affinity_before = affinity();
  const auto released_later = entry.object;
  strike_from_owners(entry);
  entry.object = std::move(object);
  describe(entry);
  enlist_with_owners(entry);
  if (affinity() != affinity_before) namespaces_due_ = true;
  if (entry.node != kNoNode) nodes_.push_back(entry.node);
  LabelGroup& group = cluster_.groups_[cluster_.label_group_of(pod)];
  if (group.pods.front() == pod) group.labels = &entry.object->meta.labels;
}

/// What follows from the object alone.
void ClusterSnapshot::Update::describe(PodEntry& entry) {
  const api::Pod& pod = *entry.object;
  entry.terminal = pod.is_terminal();
  entry.terminating = pod.meta.is_terminating();
  entry.has_pod_affinity = pod.affinity && has_pod_affinity(*pod.affinity);
  entry.is_anti_affine = pod.affinity && !pod.affinity->required_pod_anti_affinity.empty();
  entry.is_daemon_set = pod.is_daemon_set();
  entry.is_mirror = pod.is_mirror();
  entry.has_host_ports = asks_for_host_ports(pod);
  pod_requests(pod, cluster_.resources_, asked_);
  entry.requests = entry.held = intern_asked();
  if (!is_being_resized(pod)) return;
  pod_requests(pod, cluster_.resources_, asked_, RequestsOf::kRunningPod);
  entry.held = intern_asked();
}

/// The number of asked_.
std::uint32_t ClusterSnapshot::Update::intern_asked() {
  auto& sets = cluster_.request_sets_;
  const auto [at, is_new] = cluster_.known_requests_.try_emplace(asked_, static_cast<std::uint32_t>(sets.size()));
  if (is_new) sets.push_back(asked_);
  return at->second;
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

void ClusterSnapshot::Update::enlist_with_owners(PodEntry& entry) {
  entry.owner = kNoOwner;
  for_each_owner(*entry.object, [&](const std::string& uid) {
    const std::uint32_t owner = intern_owner(uid);
    ++cluster_.owner_pods_[owner];
    if (is_staying(entry)) ++cluster_.living_owner_pods_[owner];
    if (entry.owner == kNoOwner) entry.owner = owner;
  });
}

void ClusterSnapshot::Update::strike_from_owners(const PodEntry& entry) {
  for_each_owner(*entry.object, [&](const std::string& uid) {
    const auto at = cluster_.owner_by_uid_.find(uid);
    if (is_staying(entry)) --cluster_.living_owner_pods_[at->second];
    if (--cluster_.owner_pods_[at->second] > 0) return;
    cluster_.free_owners_.push_back(at->second);
    cluster_.owner_by_uid_.erase(at);
  });
}

// --- all that come and go

void ClusterSnapshot::Update::index_update() {
  std::ranges::sort(leaving_);
  const std::vector<PodIndex> leaving = withdraw();
  const std::vector<std::uint32_t> by_node = arrivals_by_node();
  std::vector<std::uint32_t> positions;
  for (const NewPod& arrival : arriving_) positions.push_back(arrival.position);
  const auto size = static_cast<std::uint32_t>(cluster_.pods_.size());
  const IndexUpdate pods(size, leaving, places_in_nodes(by_node));
  const IndexUpdate names(size, leaving_, positions);
  shift_nodes(leaving, by_node);
  renumber(pods);
  pods.move_apart(cluster_.pods_);
  pods.move_apart(cluster_.group_of_);
  names.move_apart(cluster_.by_name_);
  names.move_apart(cluster_.by_labels_);
  for (std::size_t i = 0; i < by_node.size(); ++i) settle(arriving_[by_node[i]], pods.placed()[i]);
  for (std::size_t i = 0; i < arriving_.size(); ++i) cluster_.by_name_[names.placed()[i]] = arriving_[i].index;
  order_namespaces();
  form_groups();
}

/// Takes those that leave out of all counts. The result is ascending.
std::vector<PodIndex> ClusterSnapshot::Update::withdraw() {
  std::vector<PodIndex> pods;
  pods.reserve(leaving_.size());
  for (const std::uint32_t position : leaving_) {
    pods.push_back(cluster_.by_name_[position]);
    const PodEntry& entry = cluster_.pods_[pods.back()];
    NamespaceEntry& ns = cluster_.namespaces_[entry.ns];
    --ns.pods;
    ns.is_touched = true;
    strike_from_owners(entry);
    touch(entry);
  }
  std::ranges::sort(pods);
  return pods;
}

void ClusterSnapshot::Update::touch(const PodEntry& entry) {
  if (entry.node != kNoNode && (nodes_.empty() || nodes_.back() != entry.node)) nodes_.push_back(entry.node);
  if (entry.has_pod_affinity || entry.is_anti_affine) namespaces_due_ = true;
}

/// Numbers of arrivals in the order of pods. Counting sort by node; within a node the order by name stays.
std::vector<std::uint32_t> ClusterSnapshot::Update::arrivals_by_node() const {
  std::vector<std::uint32_t> next(cluster_.nodes_.size() + 2, 0);
  for (const NewPod& arrival : arriving_) ++next[slot_of(arrival.node) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<std::uint32_t> order(arriving_.size());
  for (std::uint32_t i = 0; i < arriving_.size(); ++i) order[next[slot_of(arriving_[i].node)]++] = i;
  return order;
}

/// Before which pod each belongs.
std::vector<PodIndex> ClusterSnapshot::Update::places_in_nodes(const std::vector<std::uint32_t>& by_node) const {
  const auto& pods = cluster_.pods_;
  const auto meta_of = [](const PodEntry& entry) -> const api::ObjectMeta& { return entry.object->meta; };
  std::vector<PodIndex> places;
  places.reserve(by_node.size());
  for (const std::uint32_t arrival : by_node) {
    const std::size_t slot = slot_of(arriving_[arrival].node);
    const PodIndex after = places.empty() ? 0 : places.back();
    const auto first = pods.begin() + std::max(after, cluster_.first_pod_[slot]);
    const auto last = slot == cluster_.nodes_.size() ? pods.end() : pods.begin() + cluster_.first_pod_[slot + 1];
    const auto at = std::ranges::lower_bound(first, last, arriving_[arrival].object->meta, comes_before, meta_of);
    places.push_back(static_cast<PodIndex>(at - pods.begin()));
  }
  return places;
}

void ClusterSnapshot::Update::shift_nodes(const std::vector<PodIndex>& leaving,
                                          const std::vector<std::uint32_t>& by_node) {
  auto left = leaving.begin();
  auto came = by_node.begin();
  for (std::size_t slot = 0; slot < cluster_.first_pod_.size(); ++slot) {
    PodIndex& first = cluster_.first_pod_[slot];
    while (left != leaving.end() && *left < first) ++left;
    while (came != by_node.end() && slot_of(arriving_[*came].node) < slot) ++came;
    first += static_cast<PodIndex>((came - by_node.begin()) - (left - leaving.begin()));
  }
}

void ClusterSnapshot::Update::renumber(const IndexUpdate& pods) {
  pods.renumber(cluster_.by_name_);
  pods.renumber(cluster_.by_labels_);
  if (namespaces_due_) return;
  pods.renumber(cluster_.affinity_pods_);
  for (AntiAffineGroup& group : cluster_.anti_affine_by_labels_) pods.renumber(group);
  for (NamespaceEntry& ns : cluster_.namespaces_) {
    for (AntiAffineGroup& group : ns.anti_affine) pods.renumber(group);
  }
}

void ClusterSnapshot::Update::settle(NewPod& arrival, PodIndex at) {
  arrival.index = at;
  PodEntry& entry = cluster_.pods_[at];
  entry.object = std::move(arrival.object);
  entry.node = arrival.node;
  entry.ns = cluster_.intern_namespace(entry.object->meta.ns);
  NamespaceEntry& ns = cluster_.namespaces_[entry.ns];
  ++ns.pods;
  ns.is_touched = true;
  describe(entry);
  enlist_with_owners(entry);
  touch(entry);
}

/// As the active pods on it hold.
void ClusterSnapshot::Update::sum_up(NodeIndex node) {
  cluster_.used_.clear(node);
  cluster_.scored_.clear(node);
  for (const PodIndex pod : cluster_.pods_on(node)) {
    if (!cluster_.is_active(pod)) continue;
    cluster_.used_.add(node, cluster_.held(pod).amounts);
    cluster_.scored_.add(node, cluster_.held(pod).scored);
    cluster_.used_.add(node, kPodsIndex, 1000);
  }
}

void ClusterSnapshot::Update::tell_problems() {
  cluster_.problems_ = cluster_.node_problems_;
  cluster_.fixed_ = cluster_.nodes_ != cluster_.given_nodes_;
  for (const auto& pod : cluster_.strange_) {
    const auto sound = with_sound_quantities(pod, cluster_.quantities_, cluster_.problems_);
    cluster_.fixed_ = cluster_.fixed_ || sound != pod;
    const std::string& node = pod->node_name.value;
    if (!is_lost(*pod, cluster_.find_node(node).value_or(kNoNode))) continue;
    cluster_.problems_.add({"Pod " + pod->meta.key().to_string(), "spec.nodeName",
                            "names the node \"" + node + "\", which does not exist: the pod is left alone"});
  }
  find_owner_cycles(cluster_.workloads_, cluster_.problems_);
}

}  // namespace scheduling
