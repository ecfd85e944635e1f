#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/policy/usage/rounds.hpp"
#include "controllers/policy/usage/wanted.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/slow_peer_limiter.hpp"
#include "kube/runtime/work_queue.hpp"
#include "usage/history.hpp"
#include "usage/matching.hpp"
#include "usage/source.hpp"

namespace controllers {

/// Quality of the forecasts of one source.
struct ForecastReport {
  std::string source;
  usage::ForecastQuality quality;
};

/// Known figures for one policy.
struct UsageFigures {
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> measured;  ///< one per wanted source
  std::vector<UsageHealth> health;                                         ///< one per wanted source
  std::vector<ForecastReport> forecasts;                                   ///< of sources with forecasts
};

/// Polls the usage sources of all policies at their intervals and stores the figures, so that planning never blocks.
/// Policies with equal settings share a source. Queue keys name sources. A worker blocks up to the source's timeout;
/// slow sources are limited so that they leave workers to others. Thread-safe.
class UsageCollector {
 public:
  struct Dependencies {
    UsageSourceFactory make_source;
    const base::Clock& clock;  ///< dates the samples
    base::Log log;
    base::Metrics& metrics;
    /// Nodes of the cluster, for sources that identify them by address. May be empty.
    std::function<std::vector<std::shared_ptr<const api::Node>>()> nodes = {};
  };

  /// `queue` must outlive the object.
  UsageCollector(Dependencies dependencies, kube::WorkQueue& queue)
      : deps_(std::move(dependencies)), queue_(queue), limiter_(deps_.clock) {}

  /// Sets the sources wanted by `policy`. Sources that no policy wants are dropped with their figures.
  void set(const std::string& policy, const std::vector<WantedUsage>& wanted);
  void drop(const std::string& policy) { set(policy, {}); }

  /// Asks one source and returns when to ask again. Never fails; errors are stored with the source.
  base::Result<kube::Requeue> collect(const api::ObjectKey& key);

  /// Informer event; nullptr for a pod that did not exist before or does not exist any more. Subtracts the usage of a
  /// pod that left from earlier samples. Adjusts forecasts of nodes by pods that come, once measured, and leave.
  void on_pod(const api::Pod* before, const api::Pod* after);

  /// Current figures for `policy`.
  UsageFigures figures(const std::string& policy);

 private:
  /// Permanent change of a node's usage, by column.
  struct Shift {
    std::string node;
    std::vector<double> by;
    std::uint64_t known = 0;  ///< number of answers that already include it
  };
  /// New pod that is not measured yet.
  struct Arrival {
    std::string node;
    std::string ns;
    std::string pod;
    base::TimePoint since;
  };
  struct Entry {
    explicit Entry(const api::UsageSource& source_spec) : settings(source_spec), rounds(source_spec) {}
    const api::UsageSource settings;
    std::mutex request_mutex;               ///< serializes requests to this source
    std::unique_ptr<usage::Source> source;  ///< guarded by asking
    kube::SlowPeerLimiter::Peer asked;
    std::optional<usage::History> history;  ///< guarded by asking; set if forecasts are wanted
    std::vector<std::string> told;          ///< guarded by asking: complaints already logged
    // The members below are guarded by UsageCollector::mutex_.
    UsageRounds rounds;
    usage::ForecastQuality quality;
    std::set<std::string> policies;
    std::optional<base::TimePoint> forecasts_since;  ///< start of the history
    std::vector<Shift> shifts;                       ///< not in the history yet
    std::deque<Arrival> arrivals;                    ///< oldest first
  };
  struct WantedFigures {
    std::string key;    ///< key used by the strategies
    std::string entry;  ///< key of entries_
    // Latest figures, cached because they have a row per pod of the cluster.
    std::shared_ptr<const scheduling::MeasuredUsage> last{};
    std::uint64_t version = 0;      ///< version of the rounds in `last`
    base::TimePoint valid_until{};  ///< validity of `last` without another answer
  };
  /// Recomputes the figures only if they changed. REQUIRES: mutex_ is held.
  static std::shared_ptr<const scheduling::MeasuredUsage> figures_of(WantedFigures& wish, UsageRounds& rounds,
                                                                     base::TimePoint now);
  /// Drops outdated cached figures, which keep the pods of the previous answer in memory. REQUIRES: mutex_ is held.
  void drop_outdated_figures(const Entry& entry);

  std::shared_ptr<Entry> find(const std::string& key) const;
  // The functions below REQUIRE entry.asking to be held, unless stated otherwise.
  base::Result<usage::Samples> ask(Entry& entry);
  /// Returns nullopt if the cluster's nodes are unknown; node names are then used unchanged.
  std::optional<usage::NodeMatcher> matcher() const;
  void begin_history(Entry& entry, const std::vector<usage::Column>& columns);
  Forecasts foresee(Entry& entry, const usage::Samples& samples);
  void keep(Entry& entry, usage::Samples samples);
  /// REQUIRES: mutex_ is held.
  void note_pod(Entry& entry, const api::Pod* before, const api::Pod* after);
  void measure_arrivals(Entry& entry);
  /// Acquires mutex_.
  std::vector<Shift> take_shifts(Entry& entry);
  void publish(const Entry& entry, const base::Status& done);

  Dependencies deps_;
  kube::WorkQueue& queue_;
  kube::SlowPeerLimiter limiter_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;     ///< key: settings as text
  std::map<std::string, std::vector<WantedFigures>> wishes_;  ///< by policy
};

}  // namespace controllers
