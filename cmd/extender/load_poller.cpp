#include "cmd/extender/load_poller.hpp"

#include <algorithm>

namespace extender {
namespace {

bool is_bound(const api::Pod* pod) { return pod != nullptr && !pod->node_name.empty() && !pod->is_terminal(); }

bool is_same(const api::Pod* before, const api::Pod& after) {
  return before != nullptr && before->meta.uid == after.meta.uid;
}

std::string owner_of(const api::Pod& pod) {
  const auto* owner = pod.meta.controller();
  return owner == nullptr ? std::string() : owner->uid;
}

}  // namespace

void LoadPoller::replace(std::shared_ptr<const LoadModel> board, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  board_ = std::move(board);
  drop_settled(now);
  for (auto& [uid, placed] : placed_) measure(placed);
  for (auto& [name, site] : sites_) {
    std::erase_if(site.pods, [&](const std::string& uid) { return !placed_.contains(uid); });
    site.load.reset();
    if (const LoadModel::Node* node = known(name)) site.load = load_of(site, *node, {});
  }
  std::erase_if(sites_, [](const auto& each) { return each.second.pods.empty(); });
}

void LoadPoller::drop_settled(base::TimePoint now) {
  std::erase_if(placed_, [&](const auto& each) {
    const Placed& placed = each.second;
    if (!is_over(placed, now)) return false;
    if (placed.is_expected) count(placed.owner, placed.node, -1);
    return true;
  });
}

std::shared_ptr<const LoadModel> LoadPoller::board() const {
  const std::scoped_lock lock(mutex_);
  return board_;
}

void LoadPoller::on_pod(const api::Pod* before, const api::Pod* after, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const bool is_gone = before != nullptr && (after == nullptr || !is_same(before, *after));
  if (is_gone || (is_bound(before) && !is_bound(after))) drop(before->meta.uid);
  if (is_bound(before)) count(owner_of(*before), before->node_name.value, -1);
  if (!is_bound(after)) return;
  count(owner_of(*after), after->node_name.value, 1);
  if (is_bound(before) && is_same(before, *after)) return run(*after, now);
  // A pod that was seen without a node was bound now. For a pod first seen with a node, the start time is an estimate.
  const bool is_new = is_same(before, *after);
  const auto since = is_new ? now : after->start_time.value_or(after->meta.creation_timestamp);
  drop(after->meta.uid);
  if (now - since >= kPlacedFor) return;
  put(*after, after->node_name.value, since, false);
  run(*after, since);
}

/// Records the start time when the pod is reported as running.
void LoadPoller::run(const api::Pod& pod, base::TimePoint now) {
  const auto at = placed_.find(pod.meta.uid);
  if (at == placed_.end() || at->second.arrival.running || pod.phase != api::PodPhase::kRunning) return;
  at->second.arrival.running = now;
  sites_[at->second.node].load.reset();
}

void LoadPoller::expect(const api::Pod& pod, const std::string& node, base::TimePoint now) {
  if (pod.meta.uid.empty()) return;
  const std::scoped_lock lock(mutex_);
  const auto at = placed_.find(pod.meta.uid);
  if (at != placed_.end() && !at->second.is_expected) return;  // already bound: the expectation is outdated
  drop(pod.meta.uid);
  put(pod, node, now, true);
}

std::vector<std::size_t> LoadPoller::siblings(const std::vector<std::string>& nodes, const api::Pod& pod) const {
  std::vector<std::size_t> counts(nodes.size());
  const std::scoped_lock lock(mutex_);
  const auto owned = siblings_.find(owner_of(pod));
  if (owned == siblings_.end()) return counts;
  const auto self = placed_.find(pod.meta.uid);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto at = owned->second.find(nodes[i]);
    if (at == owned->second.end()) continue;
    counts[i] = at->second;
    if (self != placed_.end() && self->second.node == nodes[i]) --counts[i];
  }
  return counts;
}

void LoadPoller::count(const std::string& owner, const std::string& node, std::ptrdiff_t by) {
  if (owner.empty()) return;
  auto& nodes = siblings_[owner];
  std::size_t& pods = nodes[node];
  pods += static_cast<std::size_t>(by);
  if (pods > 0) return;
  nodes.erase(node);
  if (nodes.empty()) siblings_.erase(owner);
}

std::vector<std::optional<NodeLoad>> LoadPoller::loads(const std::vector<std::string>& nodes, const api::Pod& pod,
                                                       bool with_pod, base::TimePoint now) {
  std::vector<std::optional<NodeLoad>> loads(nodes.size());
  const std::scoped_lock lock(mutex_);
  drop_expired(now);
  if (!board_) return loads;
  const Amounts own = with_pod ? expected_of(owner_of(pod), requests_of(pod, resources_)) : Amounts(resources_.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const LoadModel::Node* node = known(nodes[i]);
    if (node == nullptr) continue;
    loads[i] = load_of(nodes[i], *node, pod.meta.uid);
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const double capacity = node->capacity[r];
      if (capacity > 0) loads[i]->mean[r] += own[r] / capacity * 100;
    }
  }
  return loads;
}

const LoadModel::Node* LoadPoller::known(const std::string& node) const {
  if (!board_) return nullptr;
  const auto at = board_->nodes.find(node);
  return at == board_->nodes.end() ? nullptr : &at->second;
}

NodeLoad LoadPoller::load_of(const std::string& name, const LoadModel::Node& node, const std::string& without) {
  const auto at = sites_.find(name);
  if (at == sites_.end()) return node.load;
  Site& site = at->second;
  const auto self = placed_.find(without);
  if (self != placed_.end() && self->second.node == name) return load_of(site, node, without);
  if (!site.load) site.load = load_of(site, node, {});
  return *site.load;
}

NodeLoad LoadPoller::load_of(const Site& site, const LoadModel::Node& node, const std::string& without) const {
  std::vector<Arrival> arrivals;
  for (const std::string& uid : site.pods) {
    if (uid != without) arrivals.push_back(placed_.at(uid).arrival);
  }
  return with_arrivals(*board_, node, arrivals);
}

std::size_t LoadPoller::placed() const {
  const std::scoped_lock lock(mutex_);
  return placed_.size();
}

LoadPoller::Amounts LoadPoller::expected_of(const std::string& owner, const Amounts& requested) const {
  Amounts amounts = requested;
  if (!board_) return amounts;
  for (std::size_t r = 0; r < amounts.size(); ++r) amounts[r] *= board_->usage_ratio[r];
  const auto usual = board_->usual.find(owner);
  if (usual == board_->usual.end()) return amounts;
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    const double warm = usual->second.warm[r];
    amounts[r] = warm >= 0 ? warm : std::max(amounts[r], usual->second.cold[r]);
  }
  return amounts;
}

void LoadPoller::measure(Placed& placed) const {
  placed.arrival.expected = expected_of(placed.owner, placed.requested);
  placed.arrival.measured =
      board_ && !placed.is_expected ? board_->use_of(placed.ns, placed.name) : Amounts(resources_.size(), -1);
}

void LoadPoller::put(const api::Pod& pod, const std::string& node, base::TimePoint since, bool is_expected) {
  if (placed_.size() >= kMaxPlaced) return;
  Placed placed;
  placed.node = node;
  placed.since = since;
  placed.is_expected = is_expected;
  placed.ns = pod.meta.ns;
  placed.name = pod.meta.name;
  placed.owner = owner_of(pod);
  placed.requested = requests_of(pod, resources_);
  measure(placed);
  if (is_expected) count(placed.owner, node, 1);
  Site& site = sites_[placed.node];
  site.pods.push_back(pod.meta.uid);
  site.load.reset();
  placed_.insert_or_assign(pod.meta.uid, std::move(placed));
}

void LoadPoller::drop(const std::string& uid) {
  const auto at = placed_.find(uid);
  if (at == placed_.end()) return;
  Site& site = sites_[at->second.node];
  std::erase(site.pods, uid);
  site.load.reset();
  if (at->second.is_expected) count(at->second.owner, at->second.node, -1);
  placed_.erase(at);
}

/// A bound pod is over once all retained samples were taken after its start.
bool LoadPoller::is_over(const Placed& placed, base::TimePoint now) const {
  if (placed.is_expected) return now - placed.since >= kExpectedFor;
  if (now - placed.since >= kPlacedFor) return true;
  const LoadModel::Node* node = known(placed.node);
  if (node == nullptr || !is_settled(placed.arrival, node->time, *board_)) return false;
  const auto& times = node->times;
  return times.empty() || times.front() - board_->max_sample_age() >= *placed.arrival.running;
}

/// Drops expired expected pods, at most once per second. Bound pods are dropped when a new load model arrives.
void LoadPoller::drop_expired(base::TimePoint now) {
  if (now >= last_drop_ && now - last_drop_ < base::seconds(1)) return;
  last_drop_ = now;
  std::vector<std::string> over;
  for (const auto& [uid, placed] : placed_) {
    if (placed.is_expected && is_over(placed, now)) over.push_back(uid);
  }
  for (const std::string& uid : over) drop(uid);
}

}  // namespace extender
