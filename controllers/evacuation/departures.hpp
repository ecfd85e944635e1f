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
  void note_pod(const api::ObjectKey& evacuation, const std::string& pod_uid);
  bool has_shown(const api::ObjectKey& evacuation, const std::string& pod_uid) const;
  /// Returns the time of the first call. REQUIRES: has_shown().
  base::TimePoint left_at(const api::ObjectKey& evacuation, base::TimePoint now);

  /// Claims a new pod as the replacement of one Evacuation, before the status is stored. Returns false if another
  /// Evacuation holds the claim. A later claim of the same Evacuation replaces the earlier one.
  bool claim(const api::ObjectKey& evacuation, const std::string& replacement_uid);
  bool is_claimed_by_another(const api::ObjectKey& evacuation, const std::string& pod_uid) const;

  void forget(const api::ObjectKey& evacuation);

 private:
  struct KnownDeparture {
    std::string pod_uid;
    std::string replacement_uid;  ///< empty if none is claimed
    std::optional<base::TimePoint> left_at;
  };
  void release(KnownDeparture& known);

  mutable std::mutex mutex_;
  std::map<api::ObjectKey, KnownDeparture> known_;
  std::map<std::string, api::ObjectKey, std::less<>> claimed_by_;  ///< by UID of the replacement
};

}  // namespace controllers::evacuation
