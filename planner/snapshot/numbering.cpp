/// Which numbers pods have. Each node has a block of them, in the order of nodes. A pod that comes takes a free number
/// between its neighbours. Where there is none, the neighbours move up to the next free one, whichever node's that was;
/// where that is far, all pods of the cluster are spread again, so that each block has free numbers everywhere.

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "planner/snapshot/object_order.hpp"
#include "planner/snapshot/update.hpp"

namespace scheduling {
namespace {

/// So many pods may get other numbers for one that comes.
constexpr PodIndex kFarthest = 32;
/// A node that was short of numbers is often one that fills up.
constexpr std::size_t kSpareForShort = 64;
/// Pods without a node come and go all the time.
constexpr std::size_t kSpareForUnscheduled = 256;

/// Numbers for a node with so many pods, when they are spread.
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
  cluster_.term_users_.clear();
  cluster_.terms_ = cluster_.foreign_terms_ = 0;
  order_due_ = namespaces_due_ = true;
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
  spread(slot);
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
  return make_place(slot, next);
}

/// The nearest free number, with all pods between moved by one, and the blocks' bounds with them.
std::optional<PodIndex> ClusterSnapshot::Update::make_place(std::size_t slot, PodIndex next) {
  std::vector<PodIndex>& first = cluster_.first_pod_;
  const PodIndex end = std::min(first.back(), next + kFarthest);
  const PodIndex left = last_with(0, cluster_.is_taken_, next - std::min(next, kFarthest), next);
  const PodIndex right = first_with(0, cluster_.is_taken_, next, end);
  if (left == next && right == end) return std::nullopt;
  if (left != next && (right == end || next - left < right - next)) {
    for (PodIndex pod = left; pod + 1 < next; ++pod) renumber(pod + 1, pod);
    for (std::size_t i = slot; first[i] > left; --i) --first[i];
    return next - 1;
  }
  for (PodIndex pod = right; pod > next; --pod) renumber(pod - 1, pod);
  for (std::size_t i = slot + 1; i + 1 < first.size() && first[i] <= right; ++i) ++first[i];
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
  return cluster_.pods_.size() > 2 * cluster_.pod_count_ + 8 * cluster_.first_pod_.size() + 2 * kSpareForUnscheduled;
}

/// Gives each block numbers to spare, evenly, and the one that was short more.
void ClusterSnapshot::Update::spread(std::size_t short_slot) {
  std::vector<PodIndex> number(cluster_.pods_.size(), kNoPod);
  std::vector<PodIndex> places;
  places.reserve(cluster_.pod_count_);
  std::vector<PodIndex>& first = cluster_.first_pod_;
  std::size_t next = 0;
  for (std::size_t slot = 0; slot + 1 < first.size(); ++slot) {
    const PodRange block(cluster_.is_taken_.data(), first[slot], first[slot + 1]);
    const std::size_t pods = block.size();
    std::size_t room = room_for(pods);
    if (slot == short_slot) room += pods / 2 + kSpareForShort;
    if (slot == cluster_.nodes_.size()) room += pods / 4 + kSpareForUnscheduled;
    std::size_t i = 0;
    for (const PodIndex pod : block) places.push_back(number[pod] = static_cast<PodIndex>(next + i++ * room / pods));
    first[slot] = static_cast<PodIndex>(next);
    next += room;
  }
  first.back() = static_cast<PodIndex>(next);
  place_entries(places);
  renumber_all(number);
}

/// Puts the pods, in their order, at these places and no other. In place: the entries are the most of a snapshot.
void ClusterSnapshot::Update::place_entries(const std::vector<PodIndex>& places) {
  std::vector<PodEntry>& pods = cluster_.pods_;
  PodIndex count = 0;
  for (PodIndex pod = 0; pod < pods.size(); ++pod) {
    if (cluster_.is_taken_[pod] == 0) continue;
    if (count != pod) pods[count] = std::exchange(pods[pod], {});
    ++count;
  }
  pods.reserve(cluster_.first_pod_.back());
  pods.resize(cluster_.first_pod_.back());
  cluster_.is_taken_.assign(pods.size(), 0);
  for (PodIndex pod = count; pod-- > 0;) {
    if (places[pod] != pod) pods[places[pod]] = std::exchange(pods[pod], {});
    cluster_.is_taken_[places[pod]] = 1;
  }
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
