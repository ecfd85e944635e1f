#include "controllers/observability/notifications/queue.hpp"

#include <algorithm>
#include <utility>

namespace controllers {

std::optional<Notification> NotificationQueue::push(Notification told) {
  const Key key{told.rank, told.object.ns};
  std::optional<Notification> displaced;
  if (size_ >= most_) {
    const auto yields = lane_that_yields_to(key);
    if (!yields) return told;
    const auto lane = lanes_.find(*yields);
    displaced = std::move(lane->second.waiting.back().second);
    lane->second.waiting.pop_back();
    --size_;
    if (lane->second.waiting.empty()) lanes_.erase(lane);
  }
  lanes_[key].waiting.emplace_back(next_number_++, std::move(told));
  ++size_;
  return displaced;
}

/// The fullest of the last rank that may yield.
std::optional<NotificationQueue::Key> NotificationQueue::lane_that_yields_to(const Key& key) const {
  const auto own = lanes_.find(key);
  const std::size_t own_size = own == lanes_.end() ? 0 : own->second.waiting.size();
  std::optional<Key> best;
  std::size_t most = 0;
  for (const auto& [each, lane] : lanes_) {
    const bool may_yield = each.first > key.first || (each.first == key.first && lane.waiting.size() > own_size + 1);
    if (!may_yield || lane.free() == 0) continue;
    const bool is_later = best && each.first > best->first;
    if (best && !is_later && lane.free() <= most) continue;
    best = each;
    most = lane.free();
  }
  return best;
}

void NotificationQueue::take_in_turns(NotificationRank rank, std::size_t& left) {
  const auto begin = lanes_.lower_bound({rank, ""});
  const auto end = std::find_if(begin, lanes_.end(), [&](const auto& lane) { return lane.first.first != rank; });
  const auto is_left = [](const auto& lane) { return lane.second.free() > 0; };
  auto at = lanes_.upper_bound({rank, last_turn_[rank]});
  while (left > 0 && std::any_of(begin, end, is_left)) {
    if (at == end) at = begin;
    if (is_left(*at)) {
      ++at->second.taken;
      --left;
      last_turn_[rank] = at->first.second;
    }
    ++at;
  }
}

std::vector<Notification> NotificationQueue::take(std::size_t most) {
  const bool has_batch = std::ranges::any_of(lanes_, [](const auto& lane) { return lane.second.taken > 0; });
  if (has_batch || kept_is_taken_) return taken();
  kept_is_taken_ = !kept_.empty() && (kept_is_next_ || lanes_.empty());
  kept_is_next_ = !kept_is_taken_;
  if (kept_is_taken_) return taken();
  for (const auto rank : {NotificationRank::kPolicy, NotificationRank::kEvacuationOfPolicy, NotificationRank::kManual})
    take_in_turns(rank, most);
  return taken();
}

std::vector<Notification> NotificationQueue::taken() const {
  if (kept_is_taken_) return {kept_.front().told};
  std::vector<std::pair<std::uint64_t, const Notification*>> taken;
  for (const auto& [key, lane] : lanes_) {
    for (std::size_t i = 0; i < lane.taken; ++i) taken.emplace_back(lane.waiting[i].first, &lane.waiting[i].second);
  }
  std::ranges::sort(taken);
  std::vector<Notification> batch;
  for (const auto& [number, told] : taken) batch.push_back(*told);
  return batch;
}

void NotificationQueue::settle() {
  if (std::exchange(kept_is_taken_, false)) {
    kept_.pop_front();
    --size_;
    return;
  }
  for (auto& [key, lane] : lanes_) {
    lane.waiting.erase(lane.waiting.begin(), lane.waiting.begin() + static_cast<std::ptrdiff_t>(lane.taken));
    size_ -= lane.taken;
    lane.taken = 0;
  }
  std::erase_if(lanes_, [](const auto& lane) { return lane.second.waiting.empty(); });
}

std::vector<Notification> NotificationQueue::give_up(base::TimePoint now) {
  if (kept_is_taken_) return give_up_kept(now);
  std::vector<Notification> removed;
  std::size_t kept = 0;
  for (Notification& each : taken()) {
    if (each.rank == NotificationRank::kPolicy) {
      kept_.push_back({now, std::move(each)});
      ++kept;
    } else {
      removed.push_back(std::move(each));
    }
  }
  settle();
  size_ += kept;
  return removed;
}

/// The others that are kept have their turn first.
std::vector<Notification> NotificationQueue::give_up_kept(base::TimePoint now) {
  Kept first = kept_.front();
  settle();
  if (now - first.since >= kMaxKept) return {std::move(first.told)};
  kept_.push_back(std::move(first));
  ++size_;
  return {};
}

}  // namespace controllers
