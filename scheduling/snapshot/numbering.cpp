/// Which numbers pods have. Each node has a block of them, in the order of nodes. A pod that comes takes a free number
/// between its neighbours. Where there is none, the neighbours move up to the next free one; where that is far, all
/// pods of the cluster are spread again, so that each block has free numbers everywhere.

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "scheduling/snapshot/object_order.hpp"
#include "scheduling/snapshot/update.hpp"

namespace scheduling {
namespace {

/// So many pods may get other numbers for one that comes.
constexpr PodIndex kFarthest = 32;

/// Numbers for so many pods, when they are spread.
constexpr std::size_t room_for(std::size_t pods) { return pods + pods / 4 + 3; }

/// The last place in [first, last) with that byte; `last`: there is none.
PodIndex last_with(std::uint8_t byte, const std::vector<std::uint8_t>& bytes, PodIndex first, PodIndex last) {
  const void* at = ::memrchr(bytes.data() + first, byte, last - first);
  return at == nullptr ? last : static_cast<PodIndex>(static_cast<const std::uint8_t*>(at) - bytes.data());
}

/// The first one; `last`: there is none.
PodIndex first_with(std::uint8_t byte, const std::vector<std::uint8_t>& bytes, PodIndex first, PodIndex last) {
  const void* at = first == last ? nullptr : std::memchr(bytes.data() + first, byte, last - first);
  return at == nullptr ? last : static_cast<PodIndex>(static_cast<const std::uint8_t*>(at) - bytes.data());
}

}  // namespace

/// By name. What was dropped has no number any more.
std::vector<ClusterSnapshot::Update::NewPod> ClusterSnapshot::Update::those_that_stay() {
  std::vector<NewPod> pods;
  pods.reserve(cluster_.pod_count_);
  for (const PodIndex pod : cluster_.pods_by_name()) {
    PodEntry& entry = cluster_.pods_[pod];
    if (cluster_.is_taken_[pod] != 0) pods.push_back({std::move(entry.object), entry.node});
  }
  return pods;
}

void ClusterSnapshot::Update::forget_pods() {
  cluster_.namespaces_.clear();
  cluster_.namespace_by_name_.clear();
  cluster_.namespaces_with_pods_ = 0;
  cluster_.owner_by_uid_.clear();
  cluster_.owner_pods_.clear();
  cluster_.living_owner_pods_.clear();
  cluster_.free_owners_.clear();
  order_due_ = true;
  nodes_.assign(cluster_.nodes().begin(), cluster_.nodes().end());
}

/// Numbers for pods in order of name, none left out.
std::vector<PodIndex> ClusterSnapshot::Update::number_all(const std::vector<NewPod>& pods) {
  std::vector<PodIndex>& first = cluster_.first_pod_;
  std::ranges::fill(first, 0);
  for (const NewPod& pod : pods) ++first[slot_of(pod.node) + 1];
  for (std::size_t slot = 1; slot < first.size(); ++slot) first[slot] += first[slot - 1];
  std::vector<PodIndex> next(first.begin(), first.end() - 1);
  std::vector<PodIndex> number;
  number.reserve(pods.size());
  for (const NewPod& pod : pods) number.push_back(next[slot_of(pod.node)]++);
  cluster_.pods_.clear();
  cluster_.pods_.resize(pods.size());
  cluster_.is_taken_.assign(pods.size(), 1);
  cluster_.pod_count_ = pods.size();
  return number;
}

/// A number for a pod that is not there yet; others may get other ones.
PodIndex ClusterSnapshot::Update::open_place(NodeIndex node, const api::ObjectMeta& meta) {
  const std::size_t slot = slot_of(node);
  if (const auto place = find_place(slot, meta)) return *place;
  spread();
  return find_place(slot, meta).value();
}

std::optional<PodIndex> ClusterSnapshot::Update::find_place(std::size_t slot, const api::ObjectMeta& meta) {
  const PodIndex first = cluster_.first_pod_[slot];
  const PodIndex last = cluster_.first_pod_[slot + 1];
  const auto& is_taken = cluster_.is_taken_;
  const PodIndex next = place_before(first, last, meta);
  const PodIndex before = last_with(1, is_taken, first, next);
  const PodIndex behind = before == next ? first : before + 1;
  if (behind < next) return next == last ? behind : behind + (next - behind) / 2;
  const PodIndex left = last_with(0, is_taken, first, next);
  const PodIndex right = first_with(0, is_taken, next, last);
  const PodIndex to_left = left == next ? kFarthest : next - 1 - left;
  const PodIndex to_right = right == last ? kFarthest : right - next;
  if (std::min(to_left, to_right) >= kFarthest) return std::nullopt;
  if (to_left < to_right) {
    for (PodIndex pod = left; pod + 1 < next; ++pod) renumber(pod + 1, pod);
    return next - 1;
  }
  for (PodIndex pod = right; pod > next; --pod) renumber(pod - 1, pod);
  return next;
}

PodIndex ClusterSnapshot::Update::next_taken(PodIndex from, PodIndex last) const {
  return first_with(1, cluster_.is_taken_, from, last);
}

/// The first pod in [first, last) that the pod comes before; `last`: none.
PodIndex ClusterSnapshot::Update::place_before(PodIndex first, PodIndex last, const api::ObjectMeta& meta) const {
  const PodIndex end = last;
  while (first < last) {
    const PodIndex middle = first + (last - first) / 2;
    const PodIndex pod = next_taken(middle, last);
    if (pod < last && comes_before(meta_of(pod), meta)) {
      first = pod + 1;
    } else {
      last = middle;
    }
  }
  return next_taken(first, end);
}

/// To a free number, past no other pod.
void ClusterSnapshot::Update::renumber(PodIndex from, PodIndex to) {
  PodEntry& entry = cluster_.pods_[from];
  NamespaceEntry& ns = cluster_.namespaces_[entry.ns];
  std::vector<PodIndex>& group = ns.groups[entry.group].pods;
  renumber_affinity(from, to);
  *place_in(ns, from) = to;
  *std::ranges::find(group, from) = to;
  cluster_.pods_[to] = std::exchange(entry, {});
  std::swap(cluster_.is_taken_[from], cluster_.is_taken_[to]);
}

bool ClusterSnapshot::Update::is_sparse() const {
  return cluster_.pods_.size() > 2 * cluster_.pod_count_ + 8 * cluster_.first_pod_.size();
}

/// Gives each block numbers to spare, evenly.
void ClusterSnapshot::Update::spread() {
  std::vector<PodIndex> number(cluster_.pods_.size(), kNoPod);
  std::vector<PodIndex>& first = cluster_.first_pod_;
  std::size_t next = 0;
  for (std::size_t slot = 0; slot + 1 < first.size(); ++slot) {
    const PodRange block(cluster_.is_taken_.data(), first[slot], first[slot + 1]);
    const std::size_t pods = block.size();
    const std::size_t room = room_for(pods);
    std::size_t i = 0;
    for (const PodIndex pod : block) number[pod] = static_cast<PodIndex>(next + i++ * room / pods);
    first[slot] = static_cast<PodIndex>(next);
    next += room;
  }
  first.back() = static_cast<PodIndex>(next);
  std::vector<PodEntry> pods(next);
  std::vector<std::uint8_t> is_taken(next, 0);
  for (PodIndex pod = 0; pod < number.size(); ++pod) {
    if (number[pod] == kNoPod) continue;
    pods[number[pod]] = std::move(cluster_.pods_[pod]);
    is_taken[number[pod]] = 1;
  }
  cluster_.pods_ = std::move(pods);
  cluster_.is_taken_ = std::move(is_taken);
  renumber_all(number);
}

void ClusterSnapshot::Update::renumber_all(const std::vector<PodIndex>& number) {
  const auto renumber = [&](std::vector<PodIndex>& pods) {
    for (PodIndex& pod : pods) pod = number[pod];
  };
  for (NamespaceEntry& ns : cluster_.namespaces_) {
    renumber(ns.pods);
    for (LabelGroup& group : ns.groups) renumber(group.pods);
  }
  if (namespaces_due_) return;  // nothing of affinity is right until it is found again
  renumber(cluster_.affinity_pods_);
  std::ranges::for_each(cluster_.anti_affine_by_labels_, renumber);
  for (NamespaceEntry& ns : cluster_.namespaces_) std::ranges::for_each(ns.anti_affine, renumber);
}

}  // namespace scheduling
