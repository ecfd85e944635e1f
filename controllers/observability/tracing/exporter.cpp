#include "controllers/observability/tracing/exporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/backoff.hpp"
#include "kube/refusal.hpp"
#include "telemetry/tracing/otlp.hpp"

namespace controllers {
namespace {

using base::kv;

constexpr base::Backoff kRetryBackoff{base::seconds(1), base::seconds(60)};
/// Upper bound of the Retry-After that a collector may request.
constexpr base::minutes kMaxRest{5};

bool was_accepted(const base::Result<kube::Response>& answer) {
  return answer && answer->status >= 200 && answer->status < 300;
}

/// OTLP allows retries for these statuses only. A batch whose response was lost may arrive twice, with the same ids.
bool is_retriable_export(const base::Result<kube::Response>& answer) {
  if (!answer)
    return base::is_retriable(answer.error().code) || answer.error().code == base::ErrorCode::kOutcomeUnknown;
  const int status = answer->status;
  return status == 429 || status == 502 || status == 503 || status == 504;
}

/// Contains nothing of the collector's response. Errors of OtlpPost contain no secret.
std::string outcome_text(const base::Result<kube::Response>& answer) {
  if (!answer) return fmt::format("{}: {}", to_string(answer.error().code), answer.error().message);
  return fmt::format("{}: {}", answer->status,
                     kube::explain_refusal(answer->status, {"tracing.endpoint", "tracing.headersFile"}));
}

}  // namespace

void SpanExporter::count(const char* result, std::size_t by) const {
  if (by == 0) return;
  deps_.metrics
      .counter("evacuator_trace_spans_total", "Number of spans, by result of their export.", {{"result", result}})
      .increment(static_cast<double>(by));
}

void SpanExporter::add(tracing::Span span) {
  if (!wants(span.trace_id)) return;
  const std::scoped_lock lock(mutex_);
  if (pending_.size() >= kMaxPending) return count("dropped", 1);
  if (pending_.empty()) batch_started_ = deps_.steady.now();
  pending_.push_back(std::move(span));
  if (pending_.size() == 1 || pending_.size() == kMaxAtOnce) wake_.notify_one();
}

std::optional<base::TimePoint> SpanExporter::next_due() const {
  if (pending_.empty()) return std::nullopt;
  const base::TimePoint gathered = pending_.size() >= kMaxAtOnce ? batch_started_ : batch_started_ + kBatchDelay;
  return std::max(gathered, next_try_);
}

/// Logs the begin and the end of an outage only, because a collector may be unavailable for days.
void SpanExporter::tell(const base::Result<kube::Response>& answer, bool is_over) {
  if (was_accepted(answer)) {
    if (std::exchange(is_down_, false)) deps_.log.info("the trace collector accepts traces again");
    return;
  }
  if (std::exchange(is_down_, true)) return;
  deps_.log.warning("traces were not accepted", {kv("answer", outcome_text(answer)), kv("givenUp", is_over)});
}

/// Returns true if the batch is done and removed.
bool SpanExporter::finish_batch(std::size_t sent, const base::Result<kube::Response>& answer) {
  const bool is_over = was_accepted(answer) || !is_retriable_export(answer) || ++failures_ >= kMaxTries;
  tell(answer, is_over);
  if (!is_over) {
    base::Duration pause = base::backoff_delay(kRetryBackoff, failures_);
    if (answer && answer->retry_after) pause = std::clamp<base::Duration>(*answer->retry_after, pause, kMaxRest);
    next_try_ = deps_.steady.now() + pause;
    return false;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(sent));
  failures_ = 0;
  next_try_ = {};
  batch_started_ = deps_.steady.now();
  const auto rejected =
      was_accepted(answer) ? std::min(sent, static_cast<std::size_t>(tracing::rejected_spans(answer->body))) : 0;
  count("rejected", rejected);
  count(was_accepted(answer) ? "sent" : "failed", sent - rejected);
  return true;
}

bool SpanExporter::send(std::size_t most) {
  std::vector<tracing::Span> batch;
  {
    const std::scoped_lock lock(mutex_);
    const auto many = static_cast<std::ptrdiff_t>(std::min(pending_.size(), most));
    batch.assign(pending_.begin(), pending_.begin() + many);
  }
  if (batch.empty()) return false;
  const auto answer = deps_.post(tracing::encode_otlp(deps_.resource, batch));
  const std::scoped_lock lock(mutex_);
  return finish_batch(batch.size(), answer) && was_accepted(answer);
}

std::optional<base::TimePoint> SpanExporter::step() {
  {
    const std::scoped_lock lock(mutex_);
    const auto due = next_due();
    if (!due || *due > deps_.steady.now()) return due;
  }
  send(kMaxAtOnce);
  const std::scoped_lock lock(mutex_);
  return next_due();
}

void SpanExporter::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    step();
    std::unique_lock lock(mutex_);
    const auto due = next_due();
    const base::Duration pause = due ? *due - deps_.steady.now() : base::Duration(kMaxRest);
    wake_.wait_for(lock, stop, std::max(pause, base::Duration::zero()), [&] {
      const auto now_due = next_due();
      return now_due && (*now_due <= deps_.steady.now() || !due || *now_due < *due);
    });
  }
  while (send(kMaxAtOnce)) {
  }
}

}  // namespace controllers
