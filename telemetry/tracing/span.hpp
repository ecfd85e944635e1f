#pragma once

/// Value types for traces. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"

namespace tracing {

struct Attribute {
  std::string key;
  std::variant<std::string, std::int64_t, double, bool> value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// The numbers are those of OTLP.
enum class SpanKind { kInternal = 1, kServer = 2, kClient = 3 };

/// Reference to a related span, possibly of another trace.
struct SpanLink {
  std::string trace_id;
  std::string span_id;
  friend bool operator==(const SpanLink&, const SpanLink&) = default;
};

/// One finished operation.
struct Span {
  std::string trace_id;  ///< 32 hex digits
  std::string id;        ///< 16 hex digits
  std::string parent{};  ///< id of a span of the same trace, empty for the root span
  std::string name{};
  SpanKind kind = SpanKind::kInternal;
  base::TimePoint start{};
  base::TimePoint end{};
  std::vector<Attribute> attributes{};
  std::vector<SpanLink> links{};
  std::string problem{};  ///< why the operation failed, empty if it did not
  friend bool operator==(const Span&, const Span&) = default;
};

/// The process that sends spans.
struct Resource {
  std::string version;   ///< version of evacuator
  std::string ns;        ///< namespace of this pod
  std::string instance;  ///< name of this replica
};

/// Returns the trace id of a subject, such as the UID of an Evacuation. Equal in every process.
std::string trace_id_of(std::string_view subject);
/// Returns the id of the span with this name in the trace. Equal in every process.
std::string span_id_of(std::string_view trace_id, std::string_view name);

/// Returns the W3C Trace Context header "traceparent" for a sampled trace, which gives a server the parent span of its
/// work. The ids must have the lengths of those in Span.
std::string traceparent_of(std::string_view trace_id, std::string_view span_id);
/// Extracts the span id from an output of traceparent_of(). Returns "" if the length is wrong.
std::string span_id_in(std::string_view traceparent);

/// Returns true if the trace is among the `percent` (0 to 100) of traces that are exported. Every process decides
/// alike.
bool is_sampled(std::string_view trace_id, double percent);

}  // namespace tracing
