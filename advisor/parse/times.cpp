#include "advisor/parse/times.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace advisor {
namespace {

constexpr std::size_t kDateLength = std::string_view("2026-11-21").size();
constexpr std::size_t kOffsetLength = std::string_view("+0000").size();
constexpr std::size_t kSecondsLength = 10;
constexpr std::size_t kMillisecondsLength = 13;
constexpr std::int64_t kFirstOfLength = 1'000'000'000;  ///< smallest number of kSecondsLength digits

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// ".25" is 250 ms, "" is 0. Returns nullopt if malformed.
std::optional<base::Duration> fraction_of(std::string_view text) {
  if (text.empty()) return base::Duration(0);
  if (text.size() < 2 || text.size() > 10 || text.find_first_not_of("0123456789", 1) != std::string_view::npos)
    return std::nullopt;
  return base::parse_duration("0" + std::string(text) + "s");
}

}  // namespace

std::optional<base::TimePoint> epoch_time(std::string_view text) {
  const auto point = std::min(text.find('.'), text.size());
  const auto number = whole_number(text.substr(0, point));
  if (!number || *number < kFirstOfLength) return std::nullopt;
  if (point == kMillisecondsLength && point == text.size()) return base::TimePoint(base::milliseconds(*number));
  const auto fraction = fraction_of(text.substr(point));
  if (point != kSecondsLength || !fraction) return std::nullopt;
  return base::TimePoint(base::seconds(*number) + *fraction);
}

std::optional<base::TimePoint> parse_history_time(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;  // fast path
  if (const auto epoch = epoch_time(text)) return epoch;
  std::string usual(text);
  if (usual.size() > kDateLength && usual[kDateLength] == ' ') usual[kDateLength] = 'T';
  const std::size_t sign = usual.size() - std::min(usual.size(), kOffsetLength);
  const bool is_offset = sign > kDateLength && (usual[sign] == '+' || usual[sign] == '-');
  if (is_offset) usual.insert(usual.size() - 2, 1, ':');
  return base::parse_time(usual);
}

}  // namespace advisor
