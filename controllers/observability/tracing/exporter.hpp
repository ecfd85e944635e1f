#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "kube/transport.hpp"
#include "telemetry/tracing/span.hpp"

namespace controllers {

/// Takes spans. Never blocks and never fails: losing one costs nothing but a gap in a picture. Thread-safe.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  /// Whether anybody wants the spans of that trace.
  virtual bool wants(std::string_view trace_id) const = 0;
  /// One of a trace that nobody wants is forgotten.
  virtual void add(tracing::Span span) = 0;
};

/// Sends spans to a collector, in batches. add() puts them into a bounded queue; one thread of its own sends them. What
/// does not fit is dropped and counted. Neither the endpoint nor answers are logged.
class SpanExporter final : public SpanSink {
 public:
  /// Posts one body; any HTTP answer is one. Called by the thread of run() or step().
  using Post = std::function<base::Result<kube::Response>(const std::string& body)>;
  struct Dependencies {
    const base::Clock& steady;  ///< what pauses go by
    base::Metrics& metrics;
    base::Log log;
    tracing::Resource resource;
    Post post;
    double sampling_percent = 100;
  };

  static constexpr std::size_t kMaxPending = 8192;  ///< about 4 MB
  static constexpr std::size_t kMaxAtOnce = 512;    ///< in one request
  static constexpr int kMaxTries = 6;               ///< then a batch is given up
  static constexpr base::seconds kGathering{2};     ///< a batch that is not full waits so long for more

  explicit SpanExporter(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  bool wants(std::string_view trace_id) const override { return tracing::is_sampled(trace_id, deps_.sampling_percent); }
  void add(tracing::Span span) override;

  /// Sends until stopped; then what is left, up to the first failure. Never throws.
  void run(std::stop_token stop);
  /// Sends one batch if that is due. When the next one is: nullopt: nothing waits. For virtual time.
  std::optional<base::TimePoint> step();

 private:
  // REQUIRE mutex_ held.
  std::optional<base::TimePoint> next_due() const;
  bool finish_batch(std::size_t sent, const base::Result<kube::Response>& answer);
  void tell(const base::Result<kube::Response>& answer, bool is_over);

  /// False: there was nothing, or it was not taken.
  bool send(std::size_t most);
  void count(const char* result, std::size_t by) const;

  const Dependencies deps_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  // All guarded by mutex_.
  std::deque<tracing::Span> pending_;
  base::TimePoint gathered_since_{};  ///< when the first of pending_ came
  base::TimePoint next_try_{};
  int failures_ = 0;  ///< of the batch that is next
  bool is_down_ = false;
};

}  // namespace controllers
