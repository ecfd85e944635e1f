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
#include "base/fair_lane.hpp"

namespace kube {

inline constexpr base::Backoff kQueueBackoff{base::milliseconds(50), base::seconds(60)};

/// Pending keys for reconcilers (client-go's workqueue): a key is handed to one worker at a time, many adds before it
/// is taken become one, an add while it is in hand queues it again after done(). Namespaces take turns. Time comes from
/// the clock, so a queue works in virtual time, too. Thread-safe.
class WorkQueue {
 public:
  /// `clock` should be a steady one: a wall clock that is set back stops all delays for so long.
  explicit WorkQueue(const base::Clock& clock, base::Backoff backoff = kQueueBackoff);

  void add(const api::ObjectKey& key);
  /// As add(), but before keys of add(): for newcomers that a burst of others must not delay. Of four keys that are
  /// taken at least one is an ordinary one, so those do not starve.
  void add_urgent(const api::ObjectKey& key);
  /// Ready once `delay` has passed; the earliest of several wins.
  void add_after(const api::ObjectKey& key, base::Duration delay);
  /// After a failure: delay doubles per key from base to max, and is never shorter than `at_least`.
  void add_rate_limited(const api::ObjectKey& key, base::Duration at_least = {});
  /// Success: the key's back-off starts over.
  void forget(const api::ObjectKey& key);

  /// Waits for a key. nullopt once `stop` is requested, or when there was none for about `patience` of real time; who
  /// watches the clock for the others stays.
  std::optional<api::ObjectKey> take(std::stop_token stop, base::Duration patience = base::Duration::max());
  /// A key that is ready now, or nullopt. For virtual time.
  std::optional<api::ObjectKey> try_take();
  /// The key is out of hand.
  void done(const api::ObjectKey& key);

  /// When the earliest delayed key becomes ready; nullopt if there is none.
  std::optional<base::TimePoint> next_due() const;
  std::size_t depth() const;  ///< ready and delayed
  int idle() const;           ///< threads that wait in take()

 private:
  // REQUIRES, of all these: mutex_ held.
  bool has_ready() const { return !ready_.empty() || !urgent_.empty(); }
  /// Of those that wait one watches the clock for all; the others sleep until there is a key for them.
  /// False: `until` has passed.
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
  std::condition_variable_any wake_;  ///< of those that do not watch the clock
  std::condition_variable_any clock_wake_;
  int sleepers_ = 0;  ///< at wake_
  int idle_ = 0;
  bool clock_is_watched_ = false;
  base::FairLane<api::ObjectKey> ready_;  ///< by namespace
  base::FairLane<api::ObjectKey> urgent_;
  int urgent_in_a_row_ = 0;
  std::set<api::ObjectKey> dirty_;
  std::set<api::ObjectKey> processing_;
  std::map<api::ObjectKey, base::TimePoint> due_;
  std::set<std::pair<base::TimePoint, api::ObjectKey>> by_time_;
  std::map<api::ObjectKey, int> failures_;
};

}  // namespace kube
