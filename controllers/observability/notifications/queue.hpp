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

/// Notifications that wait for one receiver, bounded. Those about policies come first, then those about Evacuations of
/// policies, then those about manual ones. Within a rank namespaces take turns. If the queue is full, the
/// namespace with the most waiting, of a later rank or of the same, loses one: no namespace can take places from
/// policies, or more than its share from another namespace. Not thread-safe.
class NotificationQueue {
 public:
  explicit NotificationQueue(std::size_t most) : most_(most) {}

  /// Returns the notification that was left out: `told`, or the one that it displaced. nullopt: none was.
  std::optional<Notification> push(Notification told);

  /// A notification about a policy is kept for this long after it was given up first.
  static constexpr base::Duration kMaxKept = std::chrono::hours(24);

  /// The next ones to send, at most `most`, in the order in which they came. Notifications that give_up() kept follow
  /// one by one, in turns with the others: a message that the receiver never takes holds up no other. Returns the same
  /// ones, and none of them is displaced, until settle() or give_up().
  std::vector<Notification> take(std::size_t most);
  /// Returns true if take() returned one that was given up before.
  bool repeats() const { return kept_is_taken_; }
  /// Removes what take() returned.
  void finish_batch();
  /// Removes what take() returned, except those about policies, which a later take() returns again, for kMaxKept: some
  /// of them are published only once. Returns what was removed. `now`: never goes back.
  std::vector<Notification> give_up(base::TimePoint now);

  bool empty() const { return size_ == 0; }
  /// Returns true if all that wait were given up before.
  bool has_only_kept() const { return queues_.empty(); }

 private:
  using Key = std::pair<NotificationRank, std::string>;  ///< rank and namespace
  struct NamespaceQueue {
    std::deque<std::pair<std::uint64_t, Notification>> waiting;  ///< with the order in which they came
    std::size_t taken = 0;                                       ///< from the front
    std::size_t free() const { return waiting.size() - taken; }
  };

  /// A notification about a policy that was given up.
  struct KeptNotification {
    base::TimePoint since;  ///< when it was given up first
    Notification told;
  };

  std::vector<Notification> give_up_kept(base::TimePoint now);
  std::optional<Key> queue_that_yields_to(const Key& key) const;
  void take_in_turns(NotificationRank rank, std::size_t& left);
  std::vector<Notification> taken() const;

  const std::size_t most_;
  std::size_t size_ = 0;
  std::uint64_t next_number_ = 0;
  std::map<Key, NamespaceQueue> queues_;  ///< none is empty
  std::map<NotificationRank, std::string> last_turn_;
  std::deque<KeptNotification> kept_;
  bool kept_is_taken_ = false;  ///< the first of kept_
  bool kept_is_next_ = false;
};

}  // namespace controllers
