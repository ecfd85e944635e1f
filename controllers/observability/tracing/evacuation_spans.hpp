#pragma once

/// Spans of an Evacuation. Pure. The trace id and span ids are derived from stored data only, so another process
/// continues the same trace and sends repeated spans with the same ids.

#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
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

}  // namespace controllers
