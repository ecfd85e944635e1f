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
  std::size_t series_limit = 4096;          ///< maximum number of series; the oldest is dropped
  base::seconds series_gap{360};            ///< a repetition after a longer gap starts a new Event
  base::seconds series_write_interval{10};  ///< minimum interval between writes of a series
  double per_object_qps = 1.0 / 30;
  int per_object_burst = 25;
};

/// Aggregates repetitions into series and rate-limits Events per object. Pure: time is passed in. Not thread-safe.
class EventCorrelator {
 public:
  explicit EventCorrelator(EventOptions options);

  struct Create {
    api::ObjectKey key;
  };                ///< body: body_of(key)
  struct Count {};  ///< repetition in a series, written by due_series()
  struct Drop {};   ///< the object exceeds its rate limit
  using Correlation = std::variant<Create, Count, Drop>;
  Correlation correlate(const Event& event, base::TimePoint now);

  /// Returns the series whose count must be written now, each once. `all` includes those that could wait.
  std::vector<api::ObjectKey> due_series(base::TimePoint now, bool all);
  /// Returns true if a series has repetitions that are not written yet.
  bool has_unwritten_series() const;
  /// Returns the Event's JSON, with the series if it was repeated. Returns nullopt if the series was dropped.
  std::optional<std::string> body_of(const api::ObjectKey& key) const;
  /// Returns the merge patch of the series.
  std::optional<std::string> series_patch_of(const api::ObjectKey& key) const;
  /// Returns nullptr if the series was dropped. Valid until the next non-const call.
  const Event* event_of(const api::ObjectKey& key) const;
  /// Call if the server does not have the Event (any more). The next repetition creates it again.
  void forget(const api::ObjectKey& key);
  /// Sets the namespace of Events about cluster-scoped objects, initially "default". Servers before 1.22 accept them
  /// only in kube-system.
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
  bool is_within_rate(const EventObject& object, base::TimePoint now);
  void evict_oldest_series();
  const Series* find(const api::ObjectKey& key) const;

  const EventOptions options_;
  std::map<Identity, Series> series_;
  std::map<api::ObjectKey, Identity> by_key_;
  std::map<EventObject, TokenBucket> buckets_;
  std::string cluster_scoped_ns_ = "default";
  std::uint64_t sequence_ = 0;
};

/// Publishes Events (events.k8s.io/v1) asynchronously. publish() never blocks. If the queue is full, the Event is
/// dropped and counted. A failed Event is logged: the first of its kind, reason and namespace in each minute as a
/// warning, the others at debug. Thread-safe.
class EventRecorder final : public EventSink {
 public:
  /// `client` and `clock` must outlive the recorder. Callers must call run() on a thread, or drain() in virtual time.
  EventRecorder(Client& client, const base::Clock& clock, EventOptions options, base::Log log);

  void publish(Event event) override;

  /// Sends until stopped, then sends the remaining Events until the first failure.
  void run(std::stop_token stop);
  /// Sends the queued Events without waiting. Do not mix with run().
  void drain();

  struct Stats {
    std::uint64_t published = 0;  ///< accepted by publish(); an Event about two objects counts twice
    std::uint64_t sent = 0;       ///< successful requests
    std::uint64_t dropped = 0;    ///< the queue was full, or the object exceeded its rate limit
    std::uint64_t failed = 0;     ///< failed after retries
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
  EventCorrelator correlator_;                                        // used only by the thread in run() or drain()
  bool patient_ = true;                                               // same thread: retry failures
  std::stop_token stop_;                                              // same thread
  using Subject = std::tuple<std::string, std::string, std::string>;  // kind, reason, namespace
  std::map<Subject, base::TimePoint> warned_;                         // same thread: time of the last warning

  mutable std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Event> queue_;  // guarded by mutex_
  Stats stats_;              // guarded by mutex_
};

}  // namespace kube
