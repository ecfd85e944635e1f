#pragma once

/// Evacuations that the API server permanently refuses to write (422: the stored object violates the schema, e.g. it
/// was created under an older one). Their progress cannot be recorded, so their pods must not be touched
/// (docs/operations.md).

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers::evacuation {

/// Time until an unchanged Evacuation is retried. The schema may have been fixed meanwhile.
inline constexpr base::minutes kRefusedRetry{10};

/// Returns "the API server refuses to store …" with the server's message and a remedy.
std::string refusal_text(const api::Evacuation& evacuation, const std::string& servers_words);

/// Keeps refusals in memory; a new leader learns of them by being refused once. `now` must be of a steady clock.
/// Thread-safe.
class RefusedWrites {
 public:
  /// Records that a write based on this version was refused. Returns true for the first refusal of this version.
  bool note(const api::Evacuation& evacuation, const std::string& problem, base::TimePoint now);
  /// Returns how long to delay the next write of this version; nullopt if it may be written now.
  std::optional<base::Duration> backs_off_for(const api::ObjectKey& key, const std::string& resource_version,
                                              base::TimePoint now) const;
  /// Call when the Evacuation was written or is gone.
  void forget(const api::ObjectKey& key) {
    const std::scoped_lock lock(mutex_);
    refusals_.erase(key);
  }

  /// Problems for the condition Degraded of a policy, ordered by Evacuation. An empty `policy` selects manual
  /// Evacuations.
  std::vector<std::string> problems_of(const std::string& policy) const;
  std::size_t count() const {
    const std::scoped_lock lock(mutex_);
    return refusals_.size();
  }

 private:
  struct Refusal {
    std::string resource_version;
    std::string policy;
    std::string problem;
    base::TimePoint until{};
  };
  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Refusal> refusals_;
};

}  // namespace controllers::evacuation
