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

/// Receives the records of deciding components. Thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Fills in `time` and `actor` if empty; the log sets seq and prevHash. Never fails; watch() reports failing sinks.
  virtual void record(Record record) = 0;

  /// Calls `health` immediately with the current state and then at each change: the error while any sink fails, nullopt
  /// otherwise. Runs on the thread that detected the change and must not call record(). Only one watcher exists: a new
  /// one replaces it, {} removes it. When watch() returns, the previous watcher is no longer running.
  using Health = std::function<void(const std::optional<base::Error>& failure)>;
  virtual void watch(Health health) = 0;
};

/// Returns a recorder that discards all records.
Recorder& null_recorder();

/// Returns the key that signs heads, nullopt if there is none (yet). Thread-safe.
using HeadKey = std::function<std::optional<crypto::Key>()>;

struct LogOptions {
  std::string actor{};                           ///< actor of records that have none: "evacuator/<replica>"
  std::size_t buffer = 10'000;                   ///< number of records kept while a sink fails
  base::Duration sync_every{1'000'000};          ///< 0 = each record is durable before record() returns
  base::Duration retry_every{1'000'000};         ///< time between attempts to write to a failing sink
  std::uint64_t sign_after = 1'000;              ///< maximum number of records without a signed head
  base::Duration sign_every = base::minutes(5);  ///< maximum time without a signed head while there are new records
};

/// One sink with its chain: numbers, links and writes records, and buffers them while the sink fails. Internal to Log.
class Channel;

/// Audit log. Each record goes to every sink, and each sink has its own chain.
///
/// Guarantees: record() returns after the line was handed to the kernel, so a crash of the process loses nothing and a
/// crash of the machine loses at most the last `sync_every`. A failing sink delays neither the caller nor the other
/// sinks. Up to `buffer` records are kept for it and written in order, without a gap in the chain, when it works again;
/// records beyond that are counted and replaced by a RecordsLost record. Each opening of a sink is recorded
/// (LogOpened).
class Log final : public Recorder {
 public:
  /// Opens the sinks; a sink that cannot be opened counts as failing, and is not an error. The clocks and `metrics`
  /// must outlive the log. `steady` times retries, syncs and signatures, so that steps of `clock` cannot delay them;
  /// nullptr uses `clock`.
  Log(std::vector<std::unique_ptr<Sink>> sinks, LogOptions options, const base::Clock& clock, base::Metrics& metrics,
      base::Log log, const base::Clock* steady = nullptr);
  ~Log() override;

  void record(Record record) override;
  void watch(Health health) override;

  /// Enables signed heads (telemetry/audit/signed_head.hpp), the first one as soon as `key` returns a key. `key` must
  /// remain callable as long as the log is used; {} disables signing.
  void sign_heads(HeadKey key);

  /// Runs due retries, syncs and signatures. Cheap. Called by run() or by a simulation's virtual time.
  void tick();
  /// Writes and syncs all buffered records immediately.
  void flush();
  /// Calls tick() until stopped, then flush().
  void run(std::stop_token stop);

  /// Returns the error of the first failing sink, nullopt if none fails.
  std::optional<base::Error> failure() const;
  /// Head of the chain of sink `index`, in the order passed to the constructor.
  Head head(std::size_t index = 0) const;

 private:
  void publish_changes();

  const LogOptions options_;
  const base::Clock& clock_;
  const base::Log log_;
  std::vector<std::unique_ptr<Channel>> channels_;

  std::mutex watcher_mutex_;  ///< serializes calls of the watcher
  Health watcher_;
  std::optional<base::Error> told_;
};

}  // namespace audit
