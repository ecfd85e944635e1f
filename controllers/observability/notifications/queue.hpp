#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "controllers/observability/notifications/message.hpp"

namespace controllers {

/// Bounded queue of notifications for one receiver. Notifications about policies come first, then Evacuations of
/// policies, then manual ones. Within a rank, namespaces take turns. A full queue drops a notification of the
/// namespace with the most pending ones, of a later rank or of the same. A namespace therefore cannot displace
/// policies, and cannot take more than its share from another namespace. Not thread-safe.
class NotificationQueue {
 public:
  explicit NotificationQueue(std::size_t most) : most_(most) {}

  /// Returns the notification that was dropped, `told` or one that it displaced; nullopt if none.
  std::optional<Notification> push(Notification told);

  /// Time that a notification about a policy is kept after it was first given up.
  static constexpr base::Duration kMaxKept = std::chrono::hours(24);

  /// Returns up to `most` next notifications, in the order of arrival. Notifications kept by give_up() follow one by
  /// one, alternating with the others, so that a message that the receiver never accepts delays no other message.
  /// Repeated calls return the same notifications, and none of them is displaced, until finish_batch() or give_up().
  std::vector<Notification> take(std::size_t most);
  /// Returns whether take() returned a notification that was given up before.
  bool repeats() const { return kept_is_taken_; }
  /// Removes the notifications that take() returned.
  void finish_batch();
  /// Removes and returns the notifications that take() returned. Those about policies stay for up to kMaxKept and a
  /// later take() returns them again, because some of them are published only once. `now` must be monotonic.
  std::vector<Notification> give_up(base::TimePoint now);

  bool empty() const { return size_ == 0; }
  /// Returns whether all pending notifications were given up before.
  bool has_only_kept() const { return queues_.empty(); }

 private:
  using Key = std::pair<NotificationRank, std::string>;  ///< Rank and namespace
  struct NamespaceQueue {
    std::deque<std::pair<std::uint64_t, Notification>> waiting;  ///< With numbers in order of arrival
    std::size_t taken = 0;  ///< Number of notifications at the front that take() returned
    std::size_t free() const { return waiting.size() - taken; }
  };

  /// A notification about a policy that was given up.
  struct KeptNotification {
    base::TimePoint since;  ///< Time at which it was first given up
    Notification told;
  };

  std::optional<Key> queue_that_yields_to(const Key& key) const;
  void take_in_turns(NotificationRank rank, std::size_t& left);
  std::vector<Notification> taken() const;

  const std::size_t most_;
  std::size_t size_ = 0;
  std::uint64_t next_number_ = 0;
  std::map<Key, NamespaceQueue> queues_;  ///< Contains no empty queue
  std::map<NotificationRank, std::string> last_turn_;
  std::deque<KeptNotification> kept_;
  bool kept_is_taken_ = false;  ///< take() returned the first of kept_
  bool kept_is_next_ = false;
};

}  // namespace controllers
