#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"

namespace controllers::evacuation {

/// In-memory knowledge of this process about departing pods, by Evacuation. Losing it costs extra requests only: a
/// successor reads the pod and finds the replacement again. Thread-safe.
class Departures {
 public:
  /// Records that the cache shows the pod. If the cache stops showing it, the pod is gone for good, because caches
  /// never go back in time.
  void note_pod(const api::ObjectKey& evacuation, const std::string& pod_uid) {
    const std::scoped_lock lock(mutex_);
    KnownDeparture& known = known_[evacuation];
    if (known.pod_uid == pod_uid) return;
    release(known);
    known = KnownDeparture{pod_uid, {}, std::nullopt};
  }
  bool has_shown(const api::ObjectKey& evacuation, const std::string& pod_uid) const {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(evacuation);
    return known != known_.end() && known->second.pod_uid == pod_uid;
  }
  /// Returns the time of the first call. REQUIRES: has_shown().
  base::TimePoint left_at(const api::ObjectKey& evacuation, base::TimePoint now) {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(evacuation);
    if (known == known_.end()) return now;
    if (!known->second.left_at) known->second.left_at = now;
    return *known->second.left_at;
  }

  /// Claims a new pod as the replacement of one Evacuation, before the status is stored. Returns false if another
  /// Evacuation holds the claim. A later claim of the same Evacuation replaces the earlier one.
  bool claim(const api::ObjectKey& evacuation, const std::string& replacement_uid) {
    const std::scoped_lock lock(mutex_);
    const auto holder = claimed_by_.find(replacement_uid);
    if (holder != claimed_by_.end()) return holder->second == evacuation;
    KnownDeparture& known = known_[evacuation];
    release(known);
    known.replacement_uid = replacement_uid;
    claimed_by_.emplace(replacement_uid, evacuation);
    return true;
  }
  bool is_claimed_by_another(const api::ObjectKey& evacuation, const std::string& pod_uid) const {
    const std::scoped_lock lock(mutex_);
    const auto holder = claimed_by_.find(pod_uid);
    return holder != claimed_by_.end() && holder->second != evacuation;
  }

  void forget(const api::ObjectKey& evacuation) {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(evacuation);
    if (known == known_.end()) return;
    release(known->second);
    known_.erase(known);
  }

 private:
  struct KnownDeparture {
    std::string pod_uid;
    std::string replacement_uid;  ///< empty if none is claimed
    std::optional<base::TimePoint> left_at;
  };
  void release(KnownDeparture& known) {
    if (!known.replacement_uid.empty()) claimed_by_.erase(known.replacement_uid);
    known.replacement_uid.clear();
  }

  mutable std::mutex mutex_;
  std::map<api::ObjectKey, KnownDeparture> known_;
  std::map<std::string, api::ObjectKey, std::less<>> claimed_by_;  ///< by UID of the replacement
};

}  // namespace controllers::evacuation
