#include "controllers/observability/tracing/exporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "api/meta/names.hpp"
#include "kube/config/credential_scope.hpp"
#include "kube/config/files.hpp"
#include "kube/http/transport.hpp"
#include "telemetry/tracing/otlp.hpp"

namespace controllers {
namespace {

using base::kv;

constexpr base::Backoff kExportBackoff{base::seconds(1), base::seconds(60)};

/// OTLP allows retries for these statuses only. A batch whose response was lost may arrive twice, with the same ids.
bool is_retriable_export(const base::Result<kube::Response>& answer) {
  if (!answer) return is_lost(answer);
  const int status = answer->status;
  return status == 429 || status == 502 || status == 503 || status == 504;
}

/// Settings named in logs. Errors of OtlpPost contain no secret.
constexpr kube::ServerSettings kCollectorSettings{"tracing.endpoint", "tracing.headersFile"};

constexpr std::size_t kMaxHeaderBytes = 8192;

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

/// Returns true if the batch is done and removed.
bool SpanExporter::finish_batch(std::size_t sent, const base::Result<kube::Response>& answer) {
  const bool is_over = is_accepted(answer) || !is_retriable_export(answer) || ++failures_ >= kMaxTries;
  // Logs the begin and the end of an outage only, because a collector may be unavailable for days.
  const bool was_down = std::exchange(is_down_, !is_accepted(answer));
  if (was_down && !is_down_) deps_.log.info("the trace collector accepts traces again");
  if (is_down_ && !was_down)
    deps_.log.warning("traces were not accepted",
                      {kv("answer", outcome_text(answer, kCollectorSettings)), kv("givenUp", is_over)});
  if (!is_over) {
    next_try_ = deps_.steady.now() + pause_after(answer, kExportBackoff, failures_);
    return false;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(sent));
  failures_ = 0;
  next_try_ = {};
  batch_started_ = deps_.steady.now();
  const auto rejected =
      is_accepted(answer) ? std::min(sent, static_cast<std::size_t>(tracing::rejected_spans(answer->body))) : 0;
  count("rejected", rejected);
  count(is_accepted(answer) ? "sent" : "failed", sent - rejected);
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
  return finish_batch(batch.size(), answer) && is_accepted(answer);
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
    const base::Duration pause = due ? *due - deps_.steady.now() : base::Duration(kMaxReceiverPause);
    wake_.wait_for(lock, stop, std::max(pause, base::Duration::zero()), [&] {
      const auto now_due = next_due();
      return now_due && (*now_due <= deps_.steady.now() || !due || *now_due < *due);
    });
  }
  while (send(kMaxAtOnce)) {
  }
}

base::Result<std::vector<std::pair<std::string, std::string>>> parse_headers(const std::string& text) {
  if (text.size() > kMaxHeaderBytes) return base::invalid(fmt::format("more than {} bytes", kMaxHeaderBytes));
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = kube::trim(rest.substr(0, rest.find('\n')));
    rest = rest.find('\n') == std::string_view::npos ? std::string_view() : rest.substr(rest.find('\n') + 1);
    if (line.empty() || line.front() == '#') continue;
    const auto colon = line.find(':');
    const std::string_view name = kube::trim(line.substr(0, colon));
    const std::string_view value = colon == std::string_view::npos ? "" : kube::trim(line.substr(colon + 1));
    // Excludes control characters, which could end the header.
    const auto is_text = [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); };
    const bool is_value = !value.empty() && std::ranges::all_of(value, is_text);
    if (!api::is_header_name(name) || !is_value || kube::is_own_header(name))
      return base::invalid(fmt::format("line {} is not a header such as \"Authorization: Bearer …\"", number));
    headers.emplace_back(name, value);
  }
  return headers;
}

base::Result<kube::Response> OtlpPost::operator()(const std::string& body) {
  std::string text;
  if (!config_.headers_file.empty()) {
    if (auto allowed = kube::may_send_file(config_.headers_file, {config_.endpoint}); !allowed) {
      receiver_.reset();
      return allowed.error().during("tracing.headersFile");
    }
    auto read = kube::read_file(config_.headers_file);
    if (!read) return base::unavailable("tracing.headersFile cannot be read");
    text = *std::move(read);
  }
  if (!receiver_ || text != headers_) {
    auto headers = parse_headers(text);
    if (!headers) return headers.error().during("tracing.headersFile");
    auto receiver = HttpReceiver::create({.url = config_.endpoint,
                                          .ca_file = config_.ca_file,
                                          .name = "tracing",
                                          .may_be_plain = config_.insecure,
                                          .headers = *std::move(headers)},
                                         clock_);
    if (!receiver) return receiver.error().during("tracing.endpoint");
    receiver_ = *std::move(receiver);
    headers_ = std::move(text);
  }
  return receiver_->post(body, config_.timeout);
}

}  // namespace controllers
