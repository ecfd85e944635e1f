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

using UsageSourceFactory = std::function<std::unique_ptr<usage::Source>(const api::UsageSource& source)>;
/// How good the forecasts of one source are.
struct ForecastReport {
  std::string source;
  usage::ForecastQuality quality;
};

/// What is known for one policy.
struct UsageFigures {
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> measured;  ///< one for each source that it wants
  std::vector<UsageHealth> health;                                         ///< the same
  std::vector<ForecastReport> forecasts;                                   ///< of those sources that have some
};

/// Asks the usage sources of all policies at their intervals and keeps the figures: planning reads what is there and
/// never waits. Policies that want the same share one source. Keys of the queue name sources; a worker of it blocks for
/// as long as a source may take. Sources that do not answer leave workers to the others. Thread-safe.
class UsageCollector {
 public:
  struct Dependencies {
    UsageSourceFactory make_source;
    const base::Clock& clock;  ///< that samples are dated by
    base::Log log;
    base::Metrics& metrics;
    /// The nodes of the cluster, for sources that know them by an address. May be empty.
    std::function<std::vector<std::shared_ptr<const api::Node>>()> nodes = {};
  };

  /// `queue` must outlive it.
  UsageCollector(Dependencies dependencies, kube::WorkQueue& queue)
      : deps_(std::move(dependencies)), queue_(queue), limiter_(deps_.clock) {}

  /// What `policy` wants from now on. Sources that nobody wants any more are dropped with what they said.
  void set(const std::string& policy, const std::vector<WantedUsage>& wanted);
  void drop(const std::string& policy) { set(policy, {}); }

  /// Asks one source and says when to come again. Never fails: what went wrong is kept with the source.
  base::Result<kube::Requeue> collect(const api::ObjectKey& key);

  /// As the informer of pods tells: nullptr for what was not there, or is not there any more. Samples from before a pod
  /// left count without what it used. The forecasts of nodes go with the pods that come and leave, by what these use: a
  /// pod that comes counts once it is measured.
  void on_pod(const api::Pod* before, const api::Pod* after);

  /// The figures that `policy` wants, as of now.
  UsageFigures figures(const std::string& policy);

 private:
  /// So much more, by column, is used on the node from now on.
  struct Shift {
    std::string node;
    std::vector<double> by;
    std::uint64_t known = 0;  ///< so many answers show it already
  };
  /// A new pod that was not measured yet.
  struct Arrival {
    std::string node;
    std::string ns;
    std::string pod;
    base::TimePoint since;
  };
  struct Entry {
    explicit Entry(const api::UsageSource& settings) : settings(settings), rounds(settings) {}
    const api::UsageSource settings;
    std::mutex asking;                      ///< held while the source is asked: by one worker at a time
    std::unique_ptr<usage::Source> source;  ///< guarded by asking, as is
    kube::SlowPeerLimiter::Peer asked;
    std::optional<usage::History> history;           ///< where forecasts are wanted
    std::vector<std::string> told;                   ///< guarded by asking: complaints that are in the log
    UsageRounds rounds;                              ///< guarded by the collector's mutex_
    usage::ForecastQuality quality;                  ///< the same
    std::set<std::string> policies;                  ///< the same
    std::optional<base::TimePoint> forecasts_since;  ///< the same; of what is in the history
    std::vector<Shift> shifts;                       ///< the same; not in the history yet
    std::deque<Arrival> arrivals;                    ///< the same; oldest first
  };
  struct Wish {
    std::string key;    ///< of the strategies
    std::string entry;  ///< key of entries_
    // The figures that were made last. They hold a row for each pod of the cluster.
    std::shared_ptr<const scheduling::MeasuredUsage> last{};
    std::uint64_t version = 0;     ///< of the rounds that they are made of
    base::TimePoint good_until{};  ///< without another answer
  };
  /// Made anew only when they say something else. REQUIRES: mutex_ is held.
  static std::shared_ptr<const scheduling::MeasuredUsage> figures_of(Wish& wish, UsageRounds& rounds,
                                                                     base::TimePoint now);
  /// Figures that a newer answer has outdated would hold the pods of the one before. REQUIRES: mutex_ is held.
  void drop_outdated_figures(const Entry& entry);

  std::shared_ptr<Entry> find(const std::string& key) const;
  // REQUIRES, of these: entry.asking is held.
  base::Result<usage::Samples> ask(Entry& entry);
  /// Absent: nobody knows the cluster's nodes, so that names are taken as they are.
  std::optional<usage::NodeMatcher> matcher() const;
  void begin_history(Entry& entry, const std::vector<usage::Column>& columns);
  Foreseen foresee(Entry& entry, const usage::Samples& samples);
  void keep(Entry& entry, usage::Samples samples);
  /// REQUIRES: mutex_ is held.
  void note_pod(Entry& entry, const api::Pod* before, const api::Pod* after);
  void measure_arrivals(Entry& entry);
  /// Takes the lock itself.
  std::vector<Shift> take_shifts(Entry& entry);
  void publish(const Entry& entry, const base::Status& done);
  /// Once for as long as they are the same. REQUIRES: entry.asking is held.
  void publish_complaints(Entry& entry, std::vector<std::string> complaints);

  Dependencies deps_;
  kube::WorkQueue& queue_;
  kube::SlowPeerLimiter limiter_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  ///< by their settings, as text
  std::map<std::string, std::vector<Wish>> wishes_;        ///< by policy
};

}  // namespace controllers
