#include "controllers/observability/tracing/evacuation_tracer.hpp"

#include "controllers/observability/tracing/evacuation_spans.hpp"

namespace controllers {

std::string EvacuationTracer::trace_of(const api::Evacuation& evacuation) const {
  if (!spans_) return {};
  std::string trace = trace_id_of(evacuation);
  return spans_->wants(trace) ? trace : std::string();
}

void EvacuationTracer::on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) {
  inner_.on_status(before, after, now);
  if (trace_of(after).empty()) return;
  for (tracing::Span& span : spans_of_status(before, after, now)) spans_->add(std::move(span));
}

std::string EvacuationTracer::context_of_call(const api::Evacuation& evacuation, const evictors::Action& action,
                                              base::TimePoint now) const {
  const std::string trace = trace_of(evacuation);
  return trace.empty() ? trace : tracing::traceparent_of(trace, call_span_id_of(evacuation, action, now));
}

void EvacuationTracer::on_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                                 const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning,
                                 base::TimePoint now) {
  inner_.on_answer(evacuation, action, answer, meaning, now);
  if (!trace_of(evacuation).empty()) spans_->add(span_of_answer(evacuation, action, answer, meaning, now));
}

void EvacuationTracer::on_taken_over(const api::Evacuation& evacuation, base::TimePoint now) {
  if (trace_of(evacuation).empty()) return;
  for (tracing::Span& span : spans_of_takeover(evacuation, replica_, now)) spans_->add(std::move(span));
}

}  // namespace controllers
