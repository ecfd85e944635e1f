#pragma once

/// What is kept of every workload that gets advice, and when it is written. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "advisor/rolling/rolling_history.hpp"
#include "api/advice/resource_advice.hpp"
#include "controllers/advice/workloads.hpp"
#include "usage/parse/metrics_server.hpp"

namespace controllers::advice {

struct StoredAdvice {
  AdvisedWorkload workload;
  std::map<std::string, advising::RollingHistory, std::less<>> histories{};  ///< by container; as many as those
  base::TimePoint due{};                     ///< when its status is written next, if there is news
  bool has_news = false;                     ///< samples that are in no status
  bool is_loaded = false;                    ///< what an earlier leader kept is in the histories
  bool is_there = true;                      ///< a pod of it runs
  std::vector<api::Condition> conditions{};  ///< as written last
};

/// Follows workloads and their samples. A workload that has no pods any more is kept until its news is written, and
/// then forgotten: what is known of it is in its status, where the next one of its pods finds it. Not thread-safe.
class AdviceStore {
 public:
  struct Settings {
    base::Duration interval{};  ///< between two writes of one workload
    base::Duration startup{};
    base::Duration max_age{};  ///< a sample that differs more from now counts for nothing
  };
  explicit AdviceStore(Settings settings) : settings_(settings) {}

  /// Before the samples of each round.
  void follow(Advised found, base::TimePoint now);
  void sample(const usage::ContainerSample& sample, base::TimePoint now);

  /// Whose news is to be written now, the longest overdue first.
  std::vector<advising::WorkloadKey> due(base::TimePoint now) const;
  /// The same of all news, due or not.
  std::vector<advising::WorkloadKey> with_news() const { return due(base::TimePoint::max()); }
  /// When the next one is; nullopt: there is no news.
  std::optional<base::TimePoint> next_due() const;
  /// nullptr: it is not kept.
  StoredAdvice* find(const advising::WorkloadKey& key);
  /// It was written, or could not be and is to be tried in its next turn.
  void written(const advising::WorkloadKey& key, base::TimePoint now, bool has_succeeded);
  void forget(const advising::WorkloadKey& key) { kept_.erase(key); }

  std::size_t size() const { return kept_.size(); }

 private:
  struct Pod {
    AdvisedPod pod;
    base::TimePoint last{};   ///< time of its newest sample
    std::uint64_t round = 0;  ///< that this came in
  };
  base::TimePoint next_turn(const advising::WorkloadKey& key, base::TimePoint now) const;
  void leave(base::TimePoint now, std::size_t most);

  const Settings settings_;
  std::map<advising::WorkloadKey, StoredAdvice> kept_;
  std::unordered_map<std::string, Pod> pods_;
  std::uint64_t round_ = 0;
  std::string key_;
};

}  // namespace controllers::advice
