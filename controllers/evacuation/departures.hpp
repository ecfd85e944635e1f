#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"

namespace controllers::evacuation {

/// What this process alone knows of the pods that leave, by Evacuation. Losing it costs requests, nothing else: a
/// successor reads the pod, and finds the replacement again. Thread-safe.
class Departures {
 public:
  /// The cache shows that pod. When it shows it no more, the pod is gone for good: caches never go back in time.
  void note_pod(const api::ObjectKey& evacuation, const std::string& pod_uid);
  bool has_shown(const api::ObjectKey& evacuation, const std::string& pod_uid) const;
  /// When that was asked first. REQUIRES: has_shown().
  base::TimePoint left_at(const api::ObjectKey& evacuation, base::TimePoint now);

  /// A new pod is the replacement in one Evacuation, also before that is stored. False: it is in another one already.
  /// A later claim takes the place of an earlier one.
  bool claim(const api::ObjectKey& evacuation, const std::string& replacement_uid);
  bool is_claimed_by_another(const api::ObjectKey& evacuation, const std::string& pod_uid) const;

  void forget(const api::ObjectKey& evacuation);

 private:
  struct KnownDeparture {
    std::string pod_uid;
    std::string replacement_uid;  ///< empty: none was claimed
    std::optional<base::TimePoint> left_at;
  };
  void release(KnownDeparture& known);

  mutable std::mutex mutex_;
  std::map<api::ObjectKey, KnownDeparture> known_;
  std::map<std::string, api::ObjectKey, std::less<>> claims_;  ///< by UID of the replacement
};

}  // namespace controllers::evacuation
