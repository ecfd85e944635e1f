#pragma once

/// Usage histories of the workloads that get advice, and the schedule of their status writes. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "advisor/rolling/rolling_history.hpp"
#include "api/advice/resource_advice.hpp"
#include "controllers/advice/workloads.hpp"
#include "usage/parse/metrics_server.hpp"

namespace controllers::advice {

struct StoredAdvice {
  AdvisedWorkload workload;
  /// By container; at most one per container of the workload.
  std::map<std::string, advisor::RollingHistory, std::less<>> histories{};
  base::TimePoint due{};                     ///< Time of the next status write, if has_news
  bool has_news = false;                     ///< Whether it has samples that are in no status yet
  bool is_loaded = false;                    ///< Whether the histories include those stored by an earlier leader
  bool is_there = true;                      ///< Whether a pod of the workload is running
  std::vector<api::Condition> conditions{};  ///< Conditions of the last write
};

/// Tracks workloads and their samples. A workload without pods is kept until its news is written, then forgotten. Its
/// history remains in its status and is loaded again if new pods appear. Not thread-safe.
class AdviceStore {
 public:
  struct Settings {
    base::Duration interval{};  ///< Interval between two writes of one workload
    base::Duration startup{};
    base::Duration max_age{};  ///< Samples whose time differs from now by more than this are ignored
  };
  explicit AdviceStore(Settings settings) : settings_(settings) {}

  /// Updates the workloads and pods. Call before the samples of each round.
  void follow(Advised found, base::TimePoint now);
  void sample(const usage::ContainerSample& sample, base::TimePoint now);

  /// Returns the workloads whose news is due, the longest overdue first.
  std::vector<advisor::WorkloadKey> due(base::TimePoint now) const;
  /// Returns all workloads with news, due or not.
  std::vector<advisor::WorkloadKey> with_news() const { return due(base::TimePoint::max()); }
  /// Returns the time of the next due write, or nullopt if there is no news.
  std::optional<base::TimePoint> next_due() const;
  /// Returns nullptr if the workload is not stored.
  StoredAdvice* find(const advisor::WorkloadKey& key);
  /// Schedules the next write after a write that succeeded or failed.
  void written(const advisor::WorkloadKey& key, base::TimePoint now, bool has_succeeded);
  /// Call if the clock was set back: no write waits longer than one interval from `now`.
  void limit_due(base::TimePoint now);
  void forget(const advisor::WorkloadKey& key) { kept_.erase(key); }

  std::size_t size() const { return kept_.size(); }

 private:
  struct Pod {
    AdvisedPod pod;
    base::TimePoint last{};   ///< Time of the newest sample
    std::uint64_t round = 0;  ///< Round of the newest sample
  };
  base::TimePoint next_write(const advisor::WorkloadKey& key, base::TimePoint now) const;
  void leave(base::TimePoint now, std::size_t most);

  const Settings settings_;
  std::map<advisor::WorkloadKey, StoredAdvice> kept_;
  std::unordered_map<std::string, Pod> pods_;
  std::uint64_t round_ = 0;
  std::string key_;
};

}  // namespace controllers::advice
