#include "usage/parse/plain_vector.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace usage {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;

/// Of eight bytes: the high bit of each that is below `limit`, which is at most 0x80, or of one beside such a one.
std::uint64_t below(std::uint64_t bytes, std::uint64_t limit) { return (bytes - kOnes * limit) & ~bytes & kHighBits; }

/// An escape, or a control character.
bool is_strange(std::string_view text) {
  constexpr char kSpace = 0x20;
  std::uint64_t found = 0;
  std::size_t at = 0;
  for (std::uint64_t bytes = 0; at + sizeof(bytes) <= text.size(); at += sizeof(bytes)) {
    std::memcpy(&bytes, text.data() + at, sizeof(bytes));
    found |= below(bytes, kSpace) | below(bytes ^ (kOnes * '\\'), 1);
  }
  if (found != 0) return true;
  return std::ranges::any_of(text.substr(at), [](char c) { return (c >= 0 && c < kSpace) || c == '\\'; });
}

std::size_t digits_from(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

}  // namespace

std::optional<std::int32_t> whole_number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size() || std::isnan(value))
    return std::nullopt;
  if (value <= kBelowAll || (error == std::errc::result_out_of_range && text.starts_with('-'))) return kBelowAll;
  if (value >= kAboveAll || error == std::errc::result_out_of_range) return kAboveAll;
  return std::nearbyint(value) == value ? std::optional(static_cast<std::int32_t>(value)) : std::nullopt;
}

/// With a fraction of a second, or a value that is none of few digits.
bool PlainVector::take_strange_point(std::optional<std::int32_t>& number) {
  std::string_view time;
  std::string_view value;
  if (!take("[") || !take_time(time) || !take(",") || !take_text(value) || !take("]")) return false;
  number = whole_number_of(value);
  return number.has_value() || value == "NaN";
}

bool PlainVector::take_text(std::string_view& text) {
  if (!take("\"")) return false;
  const std::size_t end = rest_.find('"');
  if (end == std::string_view::npos) return false;
  text = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return !is_strange(text);
}

bool PlainVector::take_time(std::string_view& time) {
  std::size_t end = digits_from(rest_, 0);
  if (end == 0 || rest_[0] == '0') return false;
  if (end < rest_.size() && rest_[end] == '.') {
    const std::size_t fraction = end + 1;
    end = digits_from(rest_, fraction);
    if (end == fraction) return false;
  }
  time = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return true;
}

}  // namespace usage
