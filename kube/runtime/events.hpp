#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <variant>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "api/vocabulary/events.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "kube/rate_limiter.hpp"
#include "kube/runtime/event.hpp"

namespace kube {

struct EventOptions {
  std::string controller = "evacuator.dev/evacuator";  ///< reportingController
  std::string instance;                                ///< reportingInstance: the pod's name
  std::size_t queue_limit = 1000;
  std::size_t series_limit = 4096;          ///< remembered series; the oldest is forgotten
  base::seconds series_gap{360};            ///< a repetition later than this starts a new Event
  base::seconds series_write_interval{10};  ///< repetitions are written at most so often
  double per_object_qps = 1.0 / 30;
  int per_object_burst = 25;
};

/// Folds repetitions into series and holds chatter back. Pure: time is passed in. Not thread-safe.
class EventCorrelator {
 public:
  explicit EventCorrelator(EventOptions options);

  struct Create {
    api::ObjectKey key;
  };                ///< body: body_of(key)
  struct Count {};  ///< one more of a series; written by due_series()
  struct Drop {};   ///< this object says too much
  using Correlation = std::variant<Create, Count, Drop>;
  Correlation correlate(const Event& event, base::TimePoint now);

  /// A series whose count must be written now, each once. `all`: also those that may wait.
  std::vector<api::ObjectKey> due_series(base::TimePoint now, bool all);
  /// Some series will be due.
  bool has_unwritten_series() const;
  /// The Event's JSON, with series when it happened more than once. nullopt: forgotten.
  std::optional<std::string> body_of(const api::ObjectKey& key) const;
  /// Merge patch of the series.
  std::optional<std::string> series_patch_of(const api::ObjectKey& key) const;
  /// nullptr: forgotten. Until the next call that is not const.
  const Event* event_of(const api::ObjectKey& key) const;
  /// The server does not have it (any more): the next repetition creates it again.
  void forget(const api::ObjectKey& key);
  /// Where Events about cluster-scoped objects go: "default" at first. Servers before 1.22 take them in kube-system
  /// only.
  void move_cluster_scoped(std::string ns) { cluster_scoped_ns_ = std::move(ns); }
  const std::string& cluster_scoped_namespace() const { return cluster_scoped_ns_; }
  std::size_t size() const { return series_.size(); }

 private:
  struct Identity {
    EventObject regarding;
    EventObject related;
    EventKind kind;
    std::string reason;
    std::string action;
    friend auto operator<=>(const Identity&, const Identity&) = default;
  };
  struct Series {
    Event event;
    api::ObjectKey key;
    base::TimePoint first{};
    base::TimePoint last{};
    base::TimePoint written{};
    std::int64_t count = 1;
    std::int64_t written_count = 1;
  };
  bool may_speak(const EventObject& object, base::TimePoint now);
  void make_capacity();
  const Series* find(const api::ObjectKey& key) const;

  const EventOptions options_;
  std::map<Identity, Series> series_;
  std::map<api::ObjectKey, Identity> by_key_;
  std::map<EventObject, TokenBucket> buckets_;
  std::string cluster_scoped_ns_ = "default";
  std::uint64_t sequence_ = 0;
};

/// Publishes Events (events.k8s.io/v1) behind the back of whoever reports them: publish() never blocks, and what does
/// not fit is dropped and counted. One that cannot be published is told in the log: a warning for each kind, reason and
/// namespace once a minute, the others at debug. Thread-safe.
class EventRecorder final : public EventSink {
 public:
  /// `client` and `clock` must outlive it. Somebody has to run() it, or to drain() it in virtual time.
  EventRecorder(Client& client, const base::Clock& clock, EventOptions options, base::Log log);

  void publish(Event event) override;

  /// Sends until stopped; then sends what is left, up to the first failure.
  void run(std::stop_token stop);
  /// Sends what is there, without waiting. Do not mix with run().
  void drain();

  struct Stats {
    std::uint64_t published = 0;  ///< handed in; one that is told on two objects counts twice
    std::uint64_t sent = 0;       ///< requests that succeeded
    std::uint64_t dropped = 0;    ///< queue full, or its object says too much
    std::uint64_t failed = 0;     ///< given up after retries
  };
  Stats stats() const;

 private:
  std::optional<Event> next(std::stop_token stop);
  base::Status handle(const Event& event);
  base::Status write_series(bool all);
  base::Status create(const Event& event, const api::ObjectKey& key);
  base::Status send(const Request& request, const api::ObjectKey& key);
  void log_lost(const api::ObjectKey& key, const base::Error& error);
  void enqueue(Event event);
  void pause(int tried);
  void add(std::uint64_t Stats::*counter, std::uint64_t by = 1);

  Client& client_;
  const base::Clock& clock_;
  const EventOptions options_;
  const base::Log log_;
  EventCorrelator correlator_;                                        // of the one thread that runs or drains
  bool patient_ = true;                                               // of that thread: failures are retried
  std::stop_token stop_;                                              // of that thread
  using Subject = std::tuple<std::string, std::string, std::string>;  // kind, reason, namespace
  std::map<Subject, base::TimePoint> warned_;                         // of that thread: when last

  mutable std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Event> queue_;  // guarded by mutex_
  Stats stats_;              // guarded by mutex_
};

}  // namespace kube
