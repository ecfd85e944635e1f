#include "kube/runtime/work_queue.hpp"

#include <algorithm>

namespace kube {
namespace {

// Polling interval of the thread that watches the clock, because a manual clock does not wake it.
constexpr base::Duration kMaxSleep = base::milliseconds(500);

constexpr int kUrgentInARow = 3;

/// Uses real time, whatever the queue's clock is.
std::chrono::steady_clock::time_point end_of(base::Duration patience) {
  using std::chrono::steady_clock;
  if (patience == base::Duration::max()) return steady_clock::time_point::max();
  return steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(patience);
}

}  // namespace

WorkQueue::WorkQueue(const base::Clock& clock, base::Backoff backoff) : clock_(clock), backoff_(backoff) {}

void WorkQueue::enqueue(const api::ObjectKey& key, bool urgent) {
  if (!dirty_.insert(key).second) return;
  if (processing_.contains(key)) return;  // done() queues it again, so no two workers process it at once
  (urgent ? urgent_ : ready_).push(key.ns, key);
  wake_one();
}

void WorkQueue::add(const api::ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  enqueue(key);
}

void WorkQueue::add_urgent(const api::ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  enqueue(key, true);
}

void WorkQueue::delay_until(const api::ObjectKey& key, base::TimePoint due) {
  const auto [at, is_new] = due_.try_emplace(key, due);
  if (!is_new) {
    if (at->second <= due) return;
    by_time_.erase({at->second, key});
    at->second = due;
  }
  by_time_.insert({due, key});
  if (!clock_is_watched_) return wake_one();
  if (by_time_.begin()->second == key) clock_wake_.notify_one();  // a new earliest key requires an earlier wakeup
}

void WorkQueue::add_after(const api::ObjectKey& key, base::Duration delay) {
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  if (delay <= base::Duration::zero()) return enqueue(key);
  // A delay beyond the clock's range, for example from a hostile deadline, saturates instead of overflowing.
  delay_until(key, delay > base::TimePoint::max() - now ? base::TimePoint::max() : now + delay);
}

void WorkQueue::add_rate_limited(const api::ObjectKey& key, base::Duration at_least) {
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  int& failures = failures_[key];
  failures = std::min(failures + 1, 64);
  delay_until(key, now + std::max(base::backoff_delay(backoff_, failures), at_least));
}

void WorkQueue::forget(const api::ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  failures_.erase(key);
}

std::optional<api::ObjectKey> WorkQueue::take(std::stop_token stop, base::Duration patience) {
  const auto until = end_of(patience);
  std::unique_lock lock(mutex_);
  std::optional<api::ObjectKey> key;
  bool watches_clock = false;
  while (!stop.stop_requested()) {
    promote_due();
    if ((key = pop_ready())) break;
    ++idle_;
    const bool may_wait_on = wait_for_news(lock, stop, watches_clock, until);
    --idle_;
    if (!may_wait_on && !has_ready()) break;
  }
  if (watches_clock) clock_is_watched_ = false;
  if (has_ready() || (watches_clock && !by_time_.empty())) wake_one();  // for the next key, or to watch the clock
  return key;
}

bool WorkQueue::wait_for_news(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, bool& watches_clock,
                              std::chrono::steady_clock::time_point until) {
  if (!watches_clock && (by_time_.empty() || clock_is_watched_)) {
    const auto is_needed = [this] { return has_ready() || (!by_time_.empty() && !clock_is_watched_); };
    ++sleepers_;
    const bool needed = until == std::chrono::steady_clock::time_point::max()
                            ? wake_.wait(lock, stop, is_needed)
                            : wake_.wait_until(lock, stop, until, is_needed);
    --sleepers_;
    return needed || stop.stop_requested();
  }
  watches_clock = clock_is_watched_ = true;
  if (by_time_.empty()) {
    clock_wake_.wait(lock, stop, [this] { return has_ready() || !by_time_.empty(); });
    return true;
  }
  const base::TimePoint first = by_time_.begin()->first;
  const base::Duration until_due = std::max(first - clock_.now(), base::Duration::zero());
  clock_wake_.wait_for(lock, stop, std::min(until_due, kMaxSleep),
                       [&] { return has_ready() || by_time_.empty() || by_time_.begin()->first < first; });
  return true;
}

/// A thread that was woken but has not run yet still counts as a sleeper. A thread that takes a key therefore wakes the
/// next one if there are more keys.
void WorkQueue::wake_one() {
  if (sleepers_ > 0) {
    wake_.notify_one();
  } else {
    clock_wake_.notify_one();
  }
}

std::optional<api::ObjectKey> WorkQueue::try_take() {
  const std::scoped_lock lock(mutex_);
  promote_due();
  return pop_ready();
}

void WorkQueue::done(const api::ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  if (processing_.erase(key) == 0 || !dirty_.contains(key)) return;
  ready_.push(key.ns, key);
  wake_one();
}

std::optional<base::TimePoint> WorkQueue::next_due() const {
  const std::scoped_lock lock(mutex_);
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

int WorkQueue::idle_workers() const {
  const std::scoped_lock lock(mutex_);
  return idle_;
}

std::size_t WorkQueue::depth() const {
  const std::scoped_lock lock(mutex_);
  return ready_.size() + urgent_.size() + due_.size();
}

void WorkQueue::promote_due() {
  if (by_time_.empty()) return;
  const base::TimePoint now = clock_.now();
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    const api::ObjectKey key = by_time_.begin()->second;
    by_time_.erase(by_time_.begin());
    due_.erase(key);
    enqueue(key);
  }
}

std::optional<api::ObjectKey> WorkQueue::pop_ready() {
  const bool urgent = !urgent_.empty() && (ready_.empty() || urgent_in_a_row_ < kUrgentInARow);
  auto key = (urgent ? urgent_ : ready_).pop();
  if (!key) return std::nullopt;
  urgent_in_a_row_ = urgent ? urgent_in_a_row_ + 1 : 0;
  dirty_.erase(*key);
  processing_.insert(*key);
  return key;
}

}  // namespace kube
