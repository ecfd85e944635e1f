#pragma once

/// The spans of an Evacuation's life. Pure. Its trace and the ids of its spans follow from what is stored of it alone,
/// so that another process goes on with the same trace, and tells what was told before with the same ids.

#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "evictors/evictor.hpp"
#include "telemetry/tracing/span.hpp"

namespace controllers {

std::string trace_id_of(const api::Evacuation& evacuation);
/// The span of its whole life: from its creation to its verdict.
std::string life_span_id_of(const std::string& trace_id);

/// What a stored status change ends: the phase that was left, and with the verdict its life.
std::vector<tracing::Span> spans_of_status(const api::Evacuation& before, const api::Evacuation& after,
                                           base::TimePoint now);

/// The span of a call that is sent now.
std::string call_span_id_of(const api::Evacuation& evacuation, const evictors::Action& action, base::TimePoint now);
/// A call of which the answer has come, or will not: from its stored intent on. It is the span that the request's
/// traceparent names.
tracing::Span span_of_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                             const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning,
                             base::TimePoint now);

/// Another process goes on with it, or has its verdict to look after: a mark, and once more what ended so lately that
/// the process before may not have sent it.
std::vector<tracing::Span> spans_of_takeover(const api::Evacuation& evacuation, const std::string& replica,
                                             base::TimePoint now);

}  // namespace controllers
