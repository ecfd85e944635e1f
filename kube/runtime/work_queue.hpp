#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>

#include "api/meta/object_meta.hpp"
#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/fair_queue.hpp"

namespace kube {

inline constexpr base::Backoff kQueueBackoff{base::milliseconds(50), base::seconds(60)};

/// Pending keys for reconcilers, like client-go's workqueue. A key is given to one worker at a time. Several adds
/// before it is taken count once. An add during processing queues the key again after done(). Namespaces are served
/// round-robin. Time comes from the clock, so a queue also works in virtual time. Thread-safe.
class WorkQueue {
 public:
  /// `clock` should be a steady clock. If a wall clock is set back, all delays grow by that time.
  explicit WorkQueue(const base::Clock& clock, base::Backoff backoff = kQueueBackoff);

  void add(const api::ObjectKey& key);
  /// Adds a key with priority over keys of add(), so that a burst does not delay new objects. At least one of every
  /// four taken keys comes from add(), so none starves.
  void add_urgent(const api::ObjectKey& key);
  /// Adds the key after `delay`. If called several times, the earliest time applies.
  void add_after(const api::ObjectKey& key, base::Duration delay);
  /// Adds the key after a failure. The delay doubles per key from base to max, and is at least `at_least`.
  void add_rate_limited(const api::ObjectKey& key, base::Duration at_least = {});
  /// Resets the backoff of the key after a success.
  void forget(const api::ObjectKey& key);

  /// Blocks until a key is ready. Returns nullopt if `stop` is requested, or if there was no key for about
  /// `patience` of real time. The thread that watches the clock does not time out.
  std::optional<api::ObjectKey> take(std::stop_token stop, base::Duration patience = base::Duration::max());
  /// Returns a key that is ready now, or nullopt. For virtual time.
  std::optional<api::ObjectKey> try_take();
  /// Call after processing a taken key.
  void done(const api::ObjectKey& key);

  /// Returns when the earliest delayed key becomes ready, nullopt if none exists.
  std::optional<base::TimePoint> next_due() const;
  std::size_t depth() const;  ///< number of ready and delayed keys
  int idle_workers() const;   ///< number of threads blocked in take()

 private:
  // REQUIRES for all functions below: mutex_ held.
  bool has_ready() const { return !ready_.empty() || !urgent_.empty(); }
  /// One waiting thread watches the clock for all. The others sleep until there is a key for them. Returns false if
  /// `until` has passed.
  bool wait_for_news(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, bool& watches_clock,
                     std::chrono::steady_clock::time_point until);
  void wake_one();
  void enqueue(const api::ObjectKey& key, bool urgent = false);
  void delay_until(const api::ObjectKey& key, base::TimePoint due);
  void promote_due();
  std::optional<api::ObjectKey> pop_ready();

  const base::Clock& clock_;
  const base::Backoff backoff_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;  ///< for threads that do not watch the clock
  std::condition_variable_any clock_wake_;
  int sleepers_ = 0;  ///< number of threads waiting on wake_
  int idle_ = 0;
  bool clock_is_watched_ = false;
  base::FairQueue<api::ObjectKey> ready_;  ///< by namespace
  base::FairQueue<api::ObjectKey> urgent_;
  int urgent_in_a_row_ = 0;
  std::set<api::ObjectKey> dirty_;
  std::set<api::ObjectKey> processing_;
  std::map<api::ObjectKey, base::TimePoint> due_;
  std::set<std::pair<base::TimePoint, api::ObjectKey>> by_time_;
  std::map<api::ObjectKey, int> failures_;
};

}  // namespace kube
