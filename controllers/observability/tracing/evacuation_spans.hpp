#pragma once

/// Spans of an Evacuation, and the tracer that sends them. The functions are pure. The trace id and span ids are
/// derived from stored data only, so another process continues the same trace and sends repeated spans with the same
/// ids.

#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "controllers/evacuation/ports.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "evictors/evictor.hpp"
#include "telemetry/tracing/span.hpp"

namespace controllers {

std::string trace_id_of(const api::Evacuation& evacuation);
/// Id of the span from the Evacuation's creation to its verdict.
std::string life_span_id_of(const std::string& trace_id);

/// Returns the spans that end with a stored status change: the phases left, and with a verdict the whole life.
std::vector<tracing::Span> spans_of_status(const api::Evacuation& before, const api::Evacuation& after,
                                           base::TimePoint now);

/// Returns the id of the span for a call that is sent at `now`.
std::string call_span_id_of(const api::Evacuation& evacuation, const evictors::Action& action, base::TimePoint now);
/// Returns the span of a call that was answered or will not be. It starts at the stored intent. Its id is the one in
/// the request's traceparent.
tracing::Span span_of_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                             const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning,
                             base::TimePoint now);

/// Returns the spans when another process takes over the Evacuation or its verdict: a marker, and the recently ended
/// spans that the previous process may not have sent.
std::vector<tracing::Span> spans_of_takeover(const api::Evacuation& evacuation, const std::string& replica,
                                             base::TimePoint now);

/// Converts what the Evacuation controller sends to the audit log into spans, and forwards it. Thread-safe; never
/// blocks.
class EvacuationTracer final : public evacuation::Audit {
 public:
  /// All references must outlive this object. `spans` nullptr disables tracing.
  EvacuationTracer(evacuation::Audit& inner, SpanSink* spans, std::string replica)
      : inner_(inner), spans_(spans), replica_(std::move(replica)) {}

  void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) override;
  void on_answer(const api::Evacuation& evacuation, const evictors::Action& action, const evictors::CallResult& answer,
                 const std::optional<api::LastResponse>& meaning, base::TimePoint now) override;
  std::string context_of_call(const api::Evacuation& evacuation, const evictors::Action& action,
                              base::TimePoint now) const override;
  void on_refused_write(const api::Evacuation& evacuation, const std::string& problem, base::TimePoint now) override {
    inner_.on_refused_write(evacuation, problem, now);
  }
  std::optional<api::Blocker> admission_blocker() const override { return inner_.admission_blocker(); }

  /// Adds the spans of an Evacuation that this replica takes over and has not seen before.
  void on_taken_over(const api::Evacuation& evacuation, base::TimePoint now);

  /// Returns the Evacuation's trace id, or an empty string if its trace is not sent.
  std::string trace_of(const api::Evacuation& evacuation) const;

 private:
  evacuation::Audit& inner_;
  SpanSink* const spans_;
  const std::string replica_;
};

}  // namespace controllers
