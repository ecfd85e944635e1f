#include "cmd/extender/load_poller.hpp"

#include <algorithm>
#include <cmath>
#include <span>

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

// Estimates of the load that samples of a node do not show yet use the times of the samples, not those at which
// responses arrived.

/// Returns the share, 0 to 1, of a pod's usage that a sample at `sample` includes. Assumes the minimum if the sample
/// may be older than its timestamp, because a node that appears too empty attracts all following pods.
double share_shown(const std::optional<base::TimePoint>& running, base::TimePoint sample, base::Duration window,
                   base::Duration lag) {
  if (!running) return 0;
  const base::Duration age = sample - lag - *running;
  if (window <= base::Duration::zero()) return age >= base::Duration::zero() ? 1 : 0;
  return std::clamp(std::chrono::duration<double>(age) / window, 0.0, 1.0);
}

/// Returns true if the pod's own measurement is its final usage and the sample at `time` includes all of it.
bool is_settled(const Arrival& arrival, base::TimePoint time, const LoadModel& board) {
  return arrival.running && time - board.max_sample_age() >= *arrival.running + kWarmUp;
}

/// Returns the usage missing in the newest sample: the share that it does not include yet, and the growth expected
/// while the pod warms up.
double missing_now(const LoadModel& board, base::TimePoint time, const Arrival& arrival, std::size_t r) {
  const double expected = arrival.expected[r];
  const double shown = share_shown(arrival.running, time, board.windows[r], board.lags[r]);
  const double measured = arrival.measured[r];
  const double colder = measured < 0 || is_settled(arrival, time, board) ? 0 : std::max(expected - measured, 0.0);
  return expected * (1 - shown) + colder * shown;
}

/// Returns the usage missing in an older sample. Uses the measured usage if the pod is settled, else the expected
/// usage.
double missing_then(const LoadModel& board, base::TimePoint sample, base::TimePoint newest, const Arrival& arrival,
                    std::size_t r) {
  const bool is_known = arrival.measured[r] >= 0 && is_settled(arrival, newest, board);
  const double use = is_known ? arrival.measured[r] : arrival.expected[r];
  return use * (1 - share_shown(arrival.running, sample, board.windows[r], board.lags[r]));
}

double deviation_with(const LoadModel& board, const LoadModel::Node& node, std::span<const Arrival> arrivals,
                      std::size_t r) {
  const std::size_t resources = board.resources.size();
  std::vector<double> percents;
  for (std::size_t i = 0; i < node.times.size(); ++i) {
    double percent = node.samples[i * resources + r];
    if (std::isnan(percent)) continue;
    double missing = 0;
    const bool is_newest = i + 1 == node.times.size();
    for (const Arrival& each : arrivals)
      missing +=
          is_newest ? missing_now(board, node.time, each, r) : missing_then(board, node.times[i], node.time, each, r);
    percents.push_back(percent + missing / node.capacity[r] * 100);
  }
  return deviation_of(percents);
}

/// Returns the load of the node plus the load of the arrivals that samples do not include yet. The addition applies to
/// each sample, so that a rise caused by arrivals does not count as variation.
NodeLoad with_arrivals(const LoadModel& board, const LoadModel::Node& node, std::span<const Arrival> arrivals) {
  NodeLoad load = node.load;
  for (std::size_t r = 0; r < board.resources.size(); ++r) {
    if (!board.is_measured(r) || node.capacity[r] <= 0) continue;
    double missing = 0;
    for (const Arrival& each : arrivals) missing += missing_now(board, node.time, each, r);
    load.mean[r] += missing / node.capacity[r] * 100;
    if (!arrivals.empty()) load.deviation[r] = deviation_with(board, node, arrivals, r);
  }
  return load;
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
