#pragma once

/// OTLP over HTTP in JSON (opentelemetry-proto 1.x, ExportTraceServiceRequest). Pure.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "telemetry/tracing/span.hpp"

namespace tracing {

/// Longer texts are cut, between characters; what is no UTF-8 is replaced.
inline constexpr std::size_t kMaxText = 256;
/// More attributes and links of one span are left out, and counted in it.
inline constexpr std::size_t kMaxAttributes = 32;
inline constexpr std::size_t kMaxLinks = 128;

/// The body of one request that tells all of them. Equal spans give equal bytes. Times before 1970 are told as 1970.
std::string encode_otlp(const Resource& resource, std::span<const Span> spans);

/// How many spans the collector says it did not take, by the body of an answer that is a success; 0: all were taken, or
/// the answer cannot be read. Never negative.
std::int64_t rejected_spans(std::string_view answer);

}  // namespace tracing
