#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace strategies {

/// How often containers had restarted when somebody looked. A pod's status tells only the total, so "five restarts
/// within the hour" needs earlier totals. Fed once a cycle by whoever keeps it between cycles; forgets what is older
/// than `kept` and pods that are gone.
class RestartHistory {
 public:
  explicit RestartHistory(base::Duration kept = std::chrono::hours(24)) : kept_(kept) {}

  /// Takes down the totals of the pods that restarted at all.
  void observe(const scheduling::ClusterSnapshot& cluster, base::TimePoint now);

  /// The total that the container had at `then`: that of the last look before it. Without one, the total of the first
  /// look, so that what happened before anybody looked counts for nothing; absent: never seen.
  std::optional<std::int32_t> total_at(std::string_view uid, std::string_view container, base::TimePoint then) const;

  /// What the next leader needs to go on with windows of this length: at most kMaxRestartRecords containers, those
  /// that restarted last first chosen, with their newest kMaxRestartLooks looks (older ones are lost to it, so it
  /// counts less, never more). Sorted by pod and container.
  std::vector<api::RestartRecord> records(base::Duration window, base::TimePoint now) const;
  /// Takes over what somebody else remembered; what is known already stays. Idempotent.
  void restore(const std::vector<api::RestartRecord>& records, base::TimePoint now);

 private:
  struct Look {
    base::TimePoint time;
    std::int32_t total;
  };
  struct Track {
    std::vector<Look> looks;  ///< oldest first; one for each change
    base::TimePoint last_seen{};
  };
  base::Duration kept_;
  std::map<std::string, std::map<std::string, Track, std::less<>>, std::less<>> pods_;
};

}  // namespace strategies
