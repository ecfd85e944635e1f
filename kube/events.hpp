#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "api/json.hpp"
#include "api/object_meta.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "kube/rate_limiter.hpp"
#include "kube/resource.hpp"

namespace kube {

/// An object that an Event is about or mentions.
struct EventObject {
  ResourceType type;
  api::ObjectKey key;
  std::string uid;
};

/// One note for people (events.k8s.io/v1).
struct EventRecord {
  EventObject regarding;
  std::optional<EventObject> related{};
  bool warning = false;
  std::string reason;  ///< CamelCase
  std::string action;  ///< CamelCase verb
  std::string note;    ///< cut to 1 KiB
};

/// The Event's JSON; `name` is its metadata.name. A cluster-scoped object's Events live in the namespace default. Pure.
api::Json event_json(const EventRecord& record, const std::string& name, std::string_view controller, std::string_view instance,
                     base::TimePoint now);

struct EventRecorderOptions {
  std::string reporting_controller = "evacuator.dev/evacuator";
  std::string reporting_instance = "evacuator";
  std::size_t queue_limit = 1000;      ///< Events that wait to be sent; more are dropped and counted
  base::seconds series_window{360};    ///< an equal note within this long counts up the series of the first
  double per_object_qps = 1.0 / 30;    ///< per object, beyond the burst
  int per_object_burst = 25;
  bool threaded = true;                ///< false: pump() sends, for virtual time
};

/// Sends Events in the background: equal ones become a series, talkative objects are limited, a slow server costs Events and
/// nothing else. Thread-safe.
class EventRecorder {
 public:
  /// `client` and `clock` must outlive it.
  EventRecorder(Client& client, const base::Clock& clock, EventRecorderOptions options, base::Log log);
  ~EventRecorder();  ///< stops

  /// Never blocks on I/O.
  void record(EventRecord record);
  /// Sends what waits, on this thread.
  void pump();
  /// Sends what waits for at most two seconds, then drops the rest. Idempotent.
  void stop();

  struct Stats {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;  ///< queue full, rate limit, or refused by the server
  };
  Stats stats() const;

 private:
  /// What makes two notes equal: object, reason, note.
  using Key = std::string;
  struct Series {
    api::ObjectKey event;
    std::int32_t count = 1;
    base::TimePoint last{};
  };

  void run(std::stop_token stop);
  std::optional<EventRecord> next(std::stop_token stop);
  void send(const EventRecord& record);
  bool send_first(const EventRecord& record, const Key& key, base::TimePoint now);
  bool send_again(Series& series, base::TimePoint now);
  bool allowed(const EventRecord& record, base::TimePoint now);
  void forget_old(base::TimePoint now);
  void count(bool sent);

  Client& client_;
  const base::Clock& clock_;
  const EventRecorderOptions options_;
  const base::Log log_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<EventRecord> queue_;  // guarded by mutex_
  Stats stats_;                    // guarded by mutex_
  bool closed_ = false;            // guarded by mutex_

  // Used by the sending thread alone.
  std::map<Key, Series> series_;
  std::map<std::string, TokenBucket> buckets_;
  std::uint64_t serial_ = 0;
  base::TimePoint swept_at_{};
  std::jthread thread_;
};

}  // namespace kube
