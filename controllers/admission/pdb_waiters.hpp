#pragma once

/// Evacuations that wait for a PodDisruptionBudget, and those that were just woken by one.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Wait lists per PDB. In memory only and rebuilt by reconciling; losing them costs a delay. An Evacuation waits for at
/// most one PDB. Thread-safe.
class PdbWaitList {
 public:
  struct Place {
    std::int32_t priority = 0;
    base::TimePoint since{};
    /// Number of pods of its PodGroup that the PDB must allow at once; 0 if it evicts alone.
    std::int32_t together = 0;
  };

  /// Adds the Evacuation. One that waits already keeps its position.
  void wait(const api::ObjectKey& evacuation, const api::ObjectKey& pdb, const Place& place);
  void leave(const api::ObjectKey& evacuation) {
    const std::scoped_lock lock(mutex_);
    leave_locked(evacuation);
  }
  /// Removes an Evacuation that is gone, and its unconsumed wake.
  void forget(const api::ObjectKey& evacuation) {
    const std::scoped_lock lock(mutex_);
    leave_locked(evacuation);
    woken_.erase(evacuation);
  }

  /// Returns the Evacuations to enqueue when the PDB allows more; `allowed` is nullopt if the PDB is gone. Selects up
  /// to `allowed` of those that evict alone, by priority, round-robin, the longest waiting first, and marks them as
  /// woken. Adds the members of each PodGroup that may now leave as a whole.
  std::vector<api::ObjectKey> wake(const api::ObjectKey& pdb, std::optional<std::int32_t> allowed);

  /// Marks the Evacuation as woken: its next reconcile skips the delay between two calls.
  void wake_waiter(const api::ObjectKey& evacuation) {
    const std::scoped_lock lock(mutex_);
    woken_.insert(evacuation);
  }
  bool take_wake(const api::ObjectKey& evacuation) {
    const std::scoped_lock lock(mutex_);
    return woken_.erase(evacuation) > 0;
  }
  bool is_woken(const api::ObjectKey& evacuation) const {
    const std::scoped_lock lock(mutex_);
    return woken_.contains(evacuation);
  }

 private:
  struct Waiting {
    Place place;
    std::uint64_t turn = 0;  ///< sequence number of its last wake; lower values go first
  };
  using Waiters = std::map<api::ObjectKey, Waiting>;

  void leave_locked(const api::ObjectKey& evacuation);

  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Waiters> waiters_;           ///< by PDB; no value is empty
  std::map<api::ObjectKey, api::ObjectKey> budget_of_;  ///< by Evacuation
  std::uint64_t turn_count_ = 0;
  std::set<api::ObjectKey> woken_;
};

}  // namespace controllers
