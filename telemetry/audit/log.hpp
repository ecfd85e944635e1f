#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "telemetry/audit/record.hpp"
#include "telemetry/audit/sink.hpp"

namespace audit {

/// Who decides gives its records here. Thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// `time` and `actor` are filled in when they are empty; seq and prevHash are the log's. Never fails: a failing sink
  /// is told through watch().
  virtual void record(Record record) = 0;

  /// Called at once with the present state and then at each change: the error while some sink fails, nullopt while none
  /// does. Runs on the thread that noticed; must not record(). One at a time: the next replaces it, {} ends it, and
  /// when watch() returns the one before is not running any more.
  using Health = std::function<void(const std::optional<base::Error>& failure)>;
  virtual void watch(Health health) = 0;
};

/// Records nothing and never fails.
Recorder& nowhere();

/// The key with which heads are signed now; nullopt: there is none (yet). Thread-safe.
using HeadKey = std::function<std::optional<signing::Key>()>;

struct LogOptions {
  std::string actor{};                           ///< of records without one: "evacuator/<replica>"
  std::size_t buffer = 10'000;                   ///< records kept while a sink fails
  base::Duration sync_every{1'000'000};          ///< 0: each record is durable before record() returns
  base::Duration retry_every{1'000'000};         ///< between tries to write to a failing sink
  std::uint64_t sign_after = 1'000;              ///< records without a signed head, at most
  base::Duration sign_every = base::minutes(5);  ///< while there is something new
};

/// One sink with its chain: numbers, links, writes, and keeps what cannot be written. Internal to Log.
class Channel;

/// The audit log: each record goes to every sink, and each sink holds a chain of its own.
///
/// Guarantees: record() returns after the line was handed to the kernel, so a crash of the process loses nothing; a
/// crash of the machine loses at most the last `sync_every`. A failing sink does not hold up the others nor the caller;
/// its records are kept up to `buffer`, written when it works again, in order and without a gap in the chain; those
/// beyond are counted and a RecordsLost record stands in their place. Every opening of a sink is a record (LogOpened).
class Log final : public Recorder {
 public:
  /// The clocks and `metrics` must outlive it. Opens the sinks; a sink that fails to is a failing one, not an error.
  /// `steady`: of retries, syncs and signatures, which no step of `clock` shall put off; nullptr: `clock`.
  Log(std::vector<std::unique_ptr<Sink>> sinks, LogOptions options, const base::Clock& clock, base::Metrics& metrics,
      base::Log log, const base::Clock* steady = nullptr);
  ~Log() override;

  void record(Record record) override;
  void watch(Health health) override;

  /// From now on the chains' heads are signed (telemetry/audit/signed_head.hpp), the first one as soon as there is a
  /// key. `key` must work as long as the log is used; {} ends it.
  void sign_heads(HeadKey key);

  /// What time brings: retries, syncs, signatures. Cheap; run() calls it, or virtual time does.
  void tick();
  /// Writes and syncs what is left, now.
  void flush();
  /// Ticks until stopped, then flushes.
  void run(std::stop_token stop);

  /// The first failing sink's error. nullopt: all is well.
  std::optional<base::Error> failure() const;
  /// Of the sink at `index`, in the order given.
  Head head(std::size_t index = 0) const;

 private:
  void publish_changes();

  const LogOptions options_;
  const base::Clock& clock_;
  const base::Log log_;
  std::vector<std::unique_ptr<Channel>> channels_;

  std::mutex told_mutex_;  ///< orders the calls of the watcher
  Health watcher_;
  std::optional<base::Error> told_;
};

}  // namespace audit
