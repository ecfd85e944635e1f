#include "extending/load_keeper.hpp"

#include <algorithm>

#include "scheduling/resources.hpp"

namespace extending {
namespace {

bool runs(const api::Pod* pod) { return pod != nullptr && !pod->node_name.empty() && !pod->is_terminal(); }

std::string owner_of(const api::Pod& pod) {
  const auto* owner = pod.meta.controller();
  return owner == nullptr ? std::string() : owner->uid;
}

}  // namespace

void LoadKeeper::replace(std::shared_ptr<const LoadBoard> board, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  board_ = std::move(board);
  std::erase_if(placed_, [&](const auto& each) { return is_over(each.second, now); });
  sums_.clear();
  for (auto& [uid, placed] : placed_) {
    placed.amounts = amounts_of(placed.owner, placed.requested);
    add(placed.node, placed.amounts, 1);
  }
}

std::shared_ptr<const LoadBoard> LoadKeeper::board() const {
  const std::scoped_lock lock(mutex_);
  return board_;
}

void LoadKeeper::on_pod(const api::Pod* before, const api::Pod* after, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const bool is_gone = before != nullptr && (after == nullptr || after->meta.uid != before->meta.uid);
  if (is_gone || (runs(before) && !runs(after))) drop(before->meta.uid);
  if (!runs(after)) return;
  const bool was_there = runs(before) && before->meta.uid == after->meta.uid;
  if (was_there) return;
  // A pod that was seen without a node begins now; of one that came with a list nobody knows when it was bound.
  const bool is_bound_now = before != nullptr && before->meta.uid == after->meta.uid;
  const auto since = is_bound_now ? now : after->start_time.value_or(after->meta.creation_timestamp);
  drop(after->meta.uid);
  if (now - since < kPlacedFor) put(*after, after->node_name.value, since, false);
}

void LoadKeeper::expect(const api::Pod& pod, const std::string& node, base::TimePoint now) {
  if (pod.meta.uid.empty()) return;
  const std::scoped_lock lock(mutex_);
  const auto at = placed_.find(pod.meta.uid);
  if (at != placed_.end() && !at->second.is_expected) return;  // it runs already: the answer comes too late
  drop(pod.meta.uid);
  put(pod, node, now, true);
}

std::vector<std::optional<NodeLoad>> LoadKeeper::loads(const std::vector<std::string>& nodes, const api::Pod& pod,
                                                       bool with_pod, base::TimePoint now) {
  std::vector<std::optional<NodeLoad>> loads(nodes.size());
  const std::scoped_lock lock(mutex_);
  tidy(now);
  if (!board_) return loads;
  const Amounts own = with_pod ? amounts_of(owner_of(pod), requests_of(pod)) : Amounts(resources_.size());
  const auto self = placed_.find(pod.meta.uid);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto known = board_->nodes.find(nodes[i]);
    if (known == board_->nodes.end()) continue;
    loads[i] = known->second.load;
    const auto sum = sums_.find(nodes[i]);
    const bool has_self = self != placed_.end() && self->second.node == nodes[i];
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const double capacity = known->second.capacity[r];
      if (capacity <= 0) continue;
      const double there = (sum == sums_.end() ? 0 : sum->second[r]) - (has_self ? self->second.amounts[r] : 0);
      loads[i]->mean[r] += (std::max(there, 0.0) + own[r]) / capacity * 100;
    }
  }
  return loads;
}

std::size_t LoadKeeper::placed() const {
  const std::scoped_lock lock(mutex_);
  return placed_.size();
}

LoadKeeper::Amounts LoadKeeper::amounts_of(const std::string& owner, const Amounts& requested) const {
  Amounts amounts = requested;
  if (!board_ || owner.empty()) return amounts;
  const auto usual = board_->usual.find(owner);
  if (usual == board_->usual.end()) return amounts;
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    if (usual->second[r] >= 0) amounts[r] = usual->second[r];
  }
  return amounts;
}

/// As the scheduler scores it: who asks for nothing uses something all the same.
LoadKeeper::Amounts LoadKeeper::requests_of(const api::Pod& pod) const {
  scheduling::ResourceNames names;
  scheduling::PodRequests requests;
  scheduling::pod_requests(pod, names, requests);
  Amounts amounts;
  for (const std::string& resource : resources_) {
    const auto number = names.find(resource);
    if (number == scheduling::kCpuIndex || number == scheduling::kMemoryIndex)
      amounts.push_back(static_cast<double>(requests.scored.of(*number)));
    else
      amounts.push_back(number ? static_cast<double>(scheduling::amount_of(requests.amounts, *number)) : 0);
  }
  return amounts;
}

void LoadKeeper::put(const api::Pod& pod, const std::string& node, base::TimePoint since, bool is_expected) {
  if (placed_.size() >= kMostPlaced) return;
  Placed placed{.node = node,
                .ns = pod.meta.ns,
                .name = pod.meta.name,
                .owner = owner_of(pod),
                .amounts = {},
                .requested = requests_of(pod),
                .since = since,
                .is_expected = is_expected};
  placed.amounts = amounts_of(placed.owner, placed.requested);
  add(node, placed.amounts, 1);
  placed_.insert_or_assign(pod.meta.uid, std::move(placed));
}

void LoadKeeper::drop(const std::string& uid) {
  const auto at = placed_.find(uid);
  if (at == placed_.end()) return;
  add(at->second.node, at->second.amounts, -1);
  placed_.erase(at);
}

void LoadKeeper::add(const std::string& node, const Amounts& amounts, double sign) {
  Amounts& sum = sums_[node];
  sum.resize(resources_.size());
  for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += sign * amounts[r];
}

bool LoadKeeper::is_over(const Placed& placed, base::TimePoint now) const {
  if (placed.is_expected) return now - placed.since >= kExpectedFor;
  if (now - placed.since >= kPlacedFor) return true;
  if (!board_ || !board_->measured) return false;
  if (!board_->measured->pods.empty()) return board_->knows_pod(placed.ns, placed.name);
  const auto node = board_->nodes.find(placed.node);
  return node != board_->nodes.end() && node->second.time >= placed.since + kWarmUp;
}

/// Of those that are expected, once a second: they are few, and the others go when something new is measured.
void LoadKeeper::tidy(base::TimePoint now) {
  if (now >= tidied_ && now - tidied_ < base::seconds(1)) return;
  tidied_ = now;
  std::vector<std::string> over;
  for (const auto& [uid, placed] : placed_) {
    if (placed.is_expected && is_over(placed, now)) over.push_back(uid);
  }
  for (const std::string& uid : over) drop(uid);
}

}  // namespace extending
