#pragma once

/// OTLP over HTTP in JSON (opentelemetry-proto 1.x, ExportTraceServiceRequest). Pure.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "telemetry/tracing/span.hpp"

namespace tracing {

/// Maximum size of a text in bytes. Longer texts are cut between characters; invalid UTF-8 is replaced.
inline constexpr std::size_t kMaxText = 256;
/// Maximum number of attributes and links per span. Further ones are dropped, and the span contains their number.
inline constexpr std::size_t kMaxAttributes = 32;
inline constexpr std::size_t kMaxLinks = 128;

/// Returns the request body that exports all `spans`. Equal spans give equal bytes. Times before 1970 are exported as
/// 1970.
std::string encode_otlp(const Resource& resource, std::span<const Span> spans);

/// Returns the number of spans that the collector rejected according to the body of a successful response, 0 if none or
/// if the body cannot be parsed. Never negative.
std::int64_t rejected_spans(std::string_view answer);

}  // namespace tracing
