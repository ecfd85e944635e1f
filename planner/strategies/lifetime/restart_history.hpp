#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "planner/strategies/scheduling_names.hpp"

namespace strategies {

/// Observed restart totals of containers. A pod's status contains only the total, so "five restarts within the hour"
/// needs earlier totals. The owner must call observe() once per cycle. Forgets observations older than `kept` and
/// deleted pods.
class RestartHistory {
 public:
  explicit RestartHistory(base::Duration kept = std::chrono::hours(24)) : kept_(kept) {}

  /// Records the totals of the pods that have restarted.
  void observe(const ClusterSnapshot& cluster, base::TimePoint now);

  /// Returns the container's total at `then`, from the last observation before it. Without one, returns the first
  /// observed total, so that restarts before the first observation are not counted. Returns nullopt if the container
  /// was never observed.
  std::optional<std::int32_t> total_at(std::string_view uid, std::string_view container, base::TimePoint then) const;

  /// Returns the data that the next leader needs for windows of this length: at most kMaxRestartRecords containers,
  /// the most recently restarted first chosen, each with its newest kMaxRestartLooks observations. Older ones are
  /// lost, so the next leader counts fewer restarts, never more. Sorted by pod and container.
  std::vector<api::RestartRecord> records(base::Duration window, base::TimePoint now) const;
  /// Merges the records of an earlier leader. Existing data takes precedence. Idempotent.
  void restore(const std::vector<api::RestartRecord>& records, base::TimePoint now);

 private:
  struct Look {
    base::TimePoint time;
    std::int32_t total;
  };
  struct Track {
    std::vector<Look> looks;  ///< Oldest first; one per change
    base::TimePoint last_seen{};
  };
  base::Duration kept_;
  std::map<std::string, std::map<std::string, Track, std::less<>>, std::less<>> pods_;
};

}  // namespace strategies
