#pragma once

/// What a trace is made of, as values. Pure.

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

/// As OTLP numbers them.
enum class SpanKind { kInternal = 1, kServer = 2, kClient = 3 };

/// Another span that this one has to do with.
struct SpanLink {
  std::string trace_id;
  std::string span_id;
  friend bool operator==(const SpanLink&, const SpanLink&) = default;
};

/// One piece of work that has ended.
struct Span {
  std::string trace_id;  ///< 32 hex digits
  std::string id;        ///< 16 hex digits
  std::string parent{};  ///< id of a span of the same trace; empty: it is the root
  std::string name{};
  SpanKind kind = SpanKind::kInternal;
  base::TimePoint start{};
  base::TimePoint end{};
  std::vector<Attribute> attributes{};
  std::vector<SpanLink> links{};
  std::string problem{};  ///< why it failed; empty: it did not
  friend bool operator==(const Span&, const Span&) = default;
};

/// Who sends spans.
struct Resource {
  std::string version;   ///< of this program
  std::string ns;        ///< in which it runs
  std::string instance;  ///< this replica
};

/// The trace of that subject, such as the UID of an Evacuation: whoever asks gets the same one, also another process.
std::string trace_id_of(std::string_view subject);
/// The span of that name within the trace; the same for whoever asks.
std::string span_id_of(std::string_view trace_id, std::string_view name);

/// Tells a server which span of ours its work belongs to: header traceparent of W3C Trace Context, of a trace that is
/// sent. REQUIRES: ids as in Span.
std::string traceparent_of(std::string_view trace_id, std::string_view span_id);
/// The span in what traceparent_of() made; empty: it is nothing of the kind.
std::string span_id_in(std::string_view traceparent);

/// Whether of all traces this one is among the `percent` (0 to 100) that are sent. Every process says the same of it.
bool is_sampled(std::string_view trace_id, double percent);

}  // namespace tracing
