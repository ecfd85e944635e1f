#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/observability/http_receiver.hpp"
#include "controllers/observability/tracing/tracing_config.hpp"
#include "kube/transport.hpp"
#include "telemetry/tracing/span.hpp"

namespace controllers {

/// Receiver of spans. Never blocks and never fails; a lost span only leaves a gap in the trace. Thread-safe.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  /// Returns whether spans of this trace are sampled.
  virtual bool wants(std::string_view trace_id) const = 0;
  /// Adds a span. Discards it if its trace is not sampled.
  virtual void add(tracing::Span span) = 0;
};

/// Sends spans to a collector, in batches. add() puts them into a bounded queue, from which the thread of run() sends
/// them. Spans that do not fit are dropped and counted. Logs contain neither the endpoint nor responses.
class SpanExporter final : public SpanSink {
 public:
  /// Posts one body and returns the response, whatever its status. Called on the thread of run() or step().
  using Post = std::function<base::Result<kube::Response>(const std::string& body)>;
  struct Dependencies {
    const base::Clock& steady;  ///< Clock for pauses
    base::Metrics& metrics;
    base::Log log;
    tracing::Resource resource;
    Post post;
    double sampling_percent = 100;
  };

  static constexpr std::size_t kMaxPending = 8192;  ///< About 4 MB
  static constexpr std::size_t kMaxAtOnce = 512;    ///< Per request
  static constexpr int kMaxTries = 6;               ///< Number of tries before a batch is given up
  static constexpr base::seconds kBatchDelay{2};    ///< Time that a partial batch waits for more spans

  explicit SpanExporter(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  bool wants(std::string_view trace_id) const override { return tracing::is_sampled(trace_id, deps_.sampling_percent); }
  void add(tracing::Span span) override;

  /// Sends until stopped, then sends the rest up to the first failure. Never throws.
  void run(std::stop_token stop);
  /// Sends one batch if due. Returns the time of the next batch, or nullopt if none is pending. For virtual time.
  std::optional<base::TimePoint> step();

 private:
  // REQUIRE mutex_ held.
  std::optional<base::TimePoint> next_due() const;
  bool finish_batch(std::size_t sent, const base::Result<kube::Response>& answer);

  /// Returns false if the queue was empty or the batch was not accepted.
  bool send(std::size_t most);
  void count(const char* result, std::size_t by) const;

  const Dependencies deps_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  // The following fields are guarded by mutex_.
  std::deque<tracing::Span> pending_;
  base::TimePoint batch_started_{};  ///< Arrival time of the first span in pending_
  base::TimePoint next_try_{};
  int failures_ = 0;  ///< Failed tries of the next batch
  bool is_down_ = false;
};

/// Parses headers, one "Name: value" per line. Skips empty lines and lines that begin with #. Errors name the line
/// number only, because the content is secret.
base::Result<std::vector<std::pair<std::string, std::string>>> parse_headers(const std::string& text);

/// Posts bodies to the configured endpoint. Reads the headers file for each request, so rotated headers apply
/// immediately. Sends them only to a server listed in the Secret that they are mounted from (kube::may_send_file()).
/// Errors contain neither headers nor the path of the endpoint. Use from one thread.
class OtlpPost {
 public:
  /// `clock` must outlive this object.
  OtlpPost(TracingConfig config, const base::Clock& clock) : config_(std::move(config)), clock_(clock) {}

  base::Result<kube::Response> operator()(const std::string& body);

 private:
  const TracingConfig config_;
  const base::Clock& clock_;
  std::string headers_;  ///< Headers text with which receiver_ was created
  std::unique_ptr<HttpReceiver> receiver_;
};

}  // namespace controllers
