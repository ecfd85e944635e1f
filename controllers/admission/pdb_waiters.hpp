#pragma once

/// Who waits for which PodDisruptionBudget, and who was just woken by one.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Memory only, rebuilt by reconciling: losing it costs a delay. Thread-safe. An Evacuation waits for one budget at
/// most.
class PdbWaitList {
 public:
  struct Place {
    std::int32_t priority = 0;
    base::TimePoint since{};
    std::int32_t together = 0;  ///< pods of its PodGroup that the budget has to let go at once; 0: it evicts by itself
  };

  /// Who waits already keeps its turn.
  void wait(const api::ObjectKey& evacuation, const api::ObjectKey& pdb, const Place& place);
  void leave(const api::ObjectKey& evacuation);
  /// Removes an Evacuation that is gone, and a wake that it has not taken.
  void forget(const api::ObjectKey& evacuation);

  /// Whom to enqueue now that the budget allows more; nullopt: it is gone. As many of those who evict by themselves as
  /// it allows: by priority, in turns, the longest waiting first; they are woken. Beside them the members of each
  /// PodGroup that it lets go as a whole.
  std::vector<api::ObjectKey> wake(const api::ObjectKey& pdb, std::optional<std::int32_t> allowed);

  /// The next reconcile of a woken one does not wait for the delay between two calls.
  void wake_waiter(const api::ObjectKey& evacuation);
  bool take_wake(const api::ObjectKey& evacuation);
  bool is_woken(const api::ObjectKey& evacuation) const;

 private:
  struct Waiting {
    Place place;
    std::uint64_t turn = 0;  ///< when it was woken last: the others of its budget come first
  };
  using Waiters = std::map<api::ObjectKey, Waiting>;

  void leave_locked(const api::ObjectKey& evacuation);

  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Waiters> waiters_;           ///< by budget; none is empty
  std::map<api::ObjectKey, api::ObjectKey> budget_of_;  ///< by Evacuation
  std::uint64_t policy_lock_ = 0;
  std::set<api::ObjectKey> woken_;
};

}  // namespace controllers
