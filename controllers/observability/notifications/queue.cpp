#include "controllers/observability/notifications/queue.hpp"

#include <algorithm>

namespace controllers {

std::optional<Notification> NotificationQueue::push(Notification told) {
  const Key key{told.rank, told.object.ns};
  std::optional<Notification> displaced;
  if (size_ >= most_) {
    const auto yields = queue_that_yields_to(key);
    if (!yields) return told;
    const auto queue = queues_.find(*yields);
    displaced = std::move(queue->second.waiting.back().second);
    queue->second.waiting.pop_back();
    --size_;
    if (queue->second.waiting.empty()) queues_.erase(queue);
  }
  queues_[key].waiting.emplace_back(next_number_++, std::move(told));
  ++size_;
  return displaced;
}

/// Returns the fullest queue of the last rank that may lose a notification.
std::optional<NotificationQueue::Key> NotificationQueue::queue_that_yields_to(const Key& key) const {
  const auto own = queues_.find(key);
  const std::size_t own_size = own == queues_.end() ? 0 : own->second.waiting.size();
  std::optional<Key> best;
  std::size_t most = 0;
  for (const auto& [each, queue] : queues_) {
    const bool may_yield = each.first > key.first || (each.first == key.first && queue.waiting.size() > own_size + 1);
    if (!may_yield || queue.free() == 0) continue;
    const bool is_later = best && each.first > best->first;
    if (best && !is_later && queue.free() <= most) continue;
    best = each;
    most = queue.free();
  }
  return best;
}

void NotificationQueue::take_in_turns(NotificationRank rank, std::size_t& left) {
  const auto begin = queues_.lower_bound({rank, ""});
  const auto end = std::find_if(begin, queues_.end(), [&](const auto& queue) { return queue.first.first != rank; });
  const auto is_left = [](const auto& queue) { return queue.second.free() > 0; };
  auto at = queues_.upper_bound({rank, last_turn_[rank]});
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
  const bool has_batch = std::ranges::any_of(queues_, [](const auto& queue) { return queue.second.taken > 0; });
  if (has_batch || kept_is_taken_) return taken();
  kept_is_taken_ = !kept_.empty() && (kept_is_next_ || queues_.empty());
  kept_is_next_ = !kept_is_taken_;
  if (kept_is_taken_) return taken();
  for (const auto rank : {NotificationRank::kPolicy, NotificationRank::kEvacuationOfPolicy, NotificationRank::kManual})
    take_in_turns(rank, most);
  return taken();
}

std::vector<Notification> NotificationQueue::taken() const {
  if (kept_is_taken_) return {kept_.front().told};
  std::vector<std::pair<std::uint64_t, const Notification*>> taken;
  for (const auto& [key, queue] : queues_) {
    for (std::size_t i = 0; i < queue.taken; ++i) taken.emplace_back(queue.waiting[i].first, &queue.waiting[i].second);
  }
  std::ranges::sort(taken);
  std::vector<Notification> batch;
  for (const auto& [number, told] : taken) batch.push_back(*told);
  return batch;
}

void NotificationQueue::finish_batch() {
  if (std::exchange(kept_is_taken_, false)) {
    kept_.pop_front();
    --size_;
    return;
  }
  for (auto& [key, queue] : queues_) {
    queue.waiting.erase(queue.waiting.begin(), queue.waiting.begin() + static_cast<std::ptrdiff_t>(queue.taken));
    size_ -= queue.taken;
    queue.taken = 0;
  }
  std::erase_if(queues_, [](const auto& queue) { return queue.second.waiting.empty(); });
}

std::vector<Notification> NotificationQueue::give_up(base::TimePoint now) {
  if (kept_is_taken_) {  // moves to the end of kept_, so that the others there are retried first
    KeptNotification first = kept_.front();
    finish_batch();
    if (now - first.since >= kMaxKept) return {std::move(first.told)};
    kept_.push_back(std::move(first));
    ++size_;
    return {};
  }
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
  finish_batch();
  size_ += kept;
  return removed;
}

}  // namespace controllers
