/// Assignment of pod numbers. Each node has a block of numbers, in the order of nodes. A new pod takes an unused number
/// between its neighbors. If there is none, neighbors shift to the nearest unused number, even across blocks. If that
/// is too far away, all pods of the cluster are redistributed so that every block has unused numbers.

#include <algorithm>
#include <cstring>
#include <utility>

#include "planner/snapshot/object_order.hpp"
#include "planner/snapshot/update.hpp"

namespace scheduling {
namespace {

/// Maximum distance to an unused number, which is the number of pods renumbered for one new pod.
constexpr PodIndex kMaxShift = 32;
/// Additional numbers for a node that ran out of them, since it is often being filled.
constexpr std::size_t kSpareForShort = 64;
/// Additional numbers for pods without a node, which come and go frequently.
constexpr std::size_t kSpareForUnscheduled = 256;

/// Size of a block for a node with this number of pods.
constexpr std::size_t block_size_for(std::size_t pods) { return pods + pods / 4 + 3; }

/// Returns the last index in [first, last) that contains `byte`, or `last` if there is none.
PodIndex last_with(std::uint8_t byte, const std::vector<std::uint8_t>& bytes, PodIndex first, PodIndex last) {
  const void* at = ::memrchr(bytes.data() + first, byte, last - first);
  return at == nullptr ? last : static_cast<PodIndex>(static_cast<const std::uint8_t*>(at) - bytes.data());
}

/// Returns the first index in [first, last) that contains `byte`, or `last` if there is none.
PodIndex first_with(std::uint8_t byte, const std::vector<std::uint8_t>& bytes, PodIndex first, PodIndex last) {
  const void* at = first == last ? nullptr : std::memchr(bytes.data() + first, byte, last - first);
  return at == nullptr ? last : static_cast<PodIndex>(static_cast<const std::uint8_t*>(at) - bytes.data());
}

}  // namespace

/// Extracts the pods that still have a number, in order of name.
std::vector<ClusterSnapshot::Update::NewPod> ClusterSnapshot::Update::extract_remaining_pods() {
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

/// Assigns consecutive numbers to pods, which must be in order of name.
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

/// Returns a number for a new pod. May renumber other pods.
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

/// Moves the nearest unused number to the position before `next` by shifting the pods and block bounds in between.
/// Returns nullopt if no number within kMaxShift is unused.
std::optional<PodIndex> ClusterSnapshot::Update::make_place(std::size_t slot, PodIndex next) {
  std::vector<PodIndex>& first = cluster_.first_pod_;
  const PodIndex end = std::min(first.back(), next + kMaxShift);
  const PodIndex left = last_with(0, cluster_.is_taken_, next - std::min(next, kMaxShift), next);
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

/// Returns the first pod in [first, last) that comes after `meta` in order, or `last` if there is none.
PodIndex ClusterSnapshot::Update::place_before(PodIndex first, PodIndex last, const api::ObjectMeta& meta) const {
  const PodIndex end = last;
  while (first < last) {
    const PodIndex middle = first + (last - first) / 2;
    const PodIndex pod = first_with(1, cluster_.is_taken_, middle, last);
    if (pod < last && comes_before(meta_of(pod), meta)) {
      first = pod + 1;
    } else {
      last = middle;
    }
  }
  return first_with(1, cluster_.is_taken_, first, end);
}

/// Moves a pod to an unused number. REQUIRES: no pod is numbered in between.
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

/// Redistributes all pods so that every block has evenly spaced unused numbers, and more of them in `short_slot`.
void ClusterSnapshot::Update::spread(std::size_t short_slot) {
  std::vector<PodIndex> number(cluster_.pods_.size(), kNoPod);
  std::vector<PodIndex> places;
  places.reserve(cluster_.pod_count_);
  std::vector<PodIndex>& first = cluster_.first_pod_;
  std::size_t next = 0;
  for (std::size_t slot = 0; slot + 1 < first.size(); ++slot) {
    const PodRange block(cluster_.is_taken_.data(), first[slot], first[slot + 1]);
    const std::size_t pods = block.size();
    std::size_t room = block_size_for(pods);
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

/// Moves the pods, in their order, to exactly these numbers. Works in place because the entries take most of a
/// snapshot's memory.
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
  if (namespaces_due_) return;  // affinity indexes are stale until derive_affinity() rebuilds them
  renumber(cluster_.affinity_pods_);
  std::ranges::for_each(cluster_.anti_affine_by_labels_, renumber);
  for (NamespaceEntry& ns : cluster_.namespaces_) std::ranges::for_each(ns.anti_affine, renumber);
}

}  // namespace scheduling
