#include "telemetry/tracing/span.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/crypto/hash.hpp"

namespace tracing {
namespace {

constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;
/// Number of last digits of a trace id that are random (W3C Trace Context, level 2).
constexpr std::size_t kRandomDigits = 14;
constexpr double kRandomRange = 72057594037927936.0;  // 16^14

}  // namespace

std::string trace_id_of(std::string_view subject) {
  return crypto::sha256("evacuator.dev/trace:" + std::string(subject)).substr(0, kTraceDigits);
}

std::string span_id_of(std::string_view trace_id, std::string_view name) {
  return crypto::sha256("evacuator.dev/span:" + std::string(trace_id) + ":" + std::string(name)).substr(0, kSpanDigits);
}

std::string traceparent_of(std::string_view trace_id, std::string_view span_id) {
  return fmt::format("00-{}-{}-01", trace_id, span_id);
}

std::string span_id_in(std::string_view traceparent) {
  constexpr std::size_t kBefore = 3 + kTraceDigits + 1;
  constexpr std::size_t kWhole = kBefore + kSpanDigits + 3;
  return traceparent.size() == kWhole ? std::string(traceparent.substr(kBefore, kSpanDigits)) : std::string();
}

bool is_sampled(std::string_view trace_id, double percent) {
  if (trace_id.size() != kTraceDigits) return false;
  if (percent >= 100) return true;
  const std::string_view digits = trace_id.substr(kTraceDigits - kRandomDigits);
  std::uint64_t drawn = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), drawn, 16);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && static_cast<double>(drawn) / kRandomRange < percent / 100;
}

}  // namespace tracing
