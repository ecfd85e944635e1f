#include "usage/parse/plain_vector.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace usage {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;
constexpr char kSpace = 0x20;

/// Returns the high bit of each of eight bytes that is below `limit`, which is at most 0x80. Only the lowest set bit is
/// reliable; higher ones may belong to bytes equal to the limit.
std::uint64_t below(std::uint64_t bytes, std::uint64_t limit) { return (bytes - kOnes * limit) & ~bytes & kHighBits; }
std::uint64_t equal(std::uint64_t bytes, char value) {
  return below(bytes ^ (kOnes * static_cast<unsigned char>(value)), 1);
}

/// Loads eight bytes, with the first byte of the text in the lowest byte.
std::uint64_t eight_bytes(const char* text) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof(bytes));
  return std::endian::native == std::endian::little ? bytes : __builtin_bswap64(bytes);
}

/// Returns true for the start of an escape and for control characters.
bool is_strange(char c) { return (c >= 0 && c < kSpace) || c == '\\'; }

/// Returns the position of the closing quote. Returns npos if none exists, or an escape or a control character
/// precedes it.
std::size_t end_of_text(std::string_view text) {
  constexpr std::size_t kEight = sizeof(std::uint64_t);
  std::size_t at = 0;
  for (; at + kEight <= text.size(); at += kEight) {
    const std::uint64_t bytes = eight_bytes(text.data() + at);
    const std::uint64_t quotes = equal(bytes, '"');
    const std::uint64_t all = quotes | below(bytes, kSpace) | equal(bytes, '\\');
    if (all == 0) continue;
    const int first = std::countr_zero(all);
    return (quotes >> first & 1) != 0 ? at + static_cast<std::size_t>(first) / 8 : std::string_view::npos;
  }
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (is_strange(text[at])) return std::string_view::npos;
  }
  return at < text.size() ? at : std::string_view::npos;
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

/// Slow path for points with a fractional second or a value other than a few digits.
bool PlainVector::take_slow_point(std::optional<std::int32_t>& number) {
  std::string_view time;
  std::string_view value;
  if (!take("[") || !take_time(time) || !take(",") || !take_text(value) || !take("]")) return false;
  number = whole_number_of(value);
  return number.has_value() || value == "NaN";
}

bool PlainVector::take_text(std::string_view& text) {
  if (!take("\"")) return false;
  const std::size_t end = end_of_text(rest_);
  if (end == std::string_view::npos) return false;
  text = {rest_.data(), end};
  rest_.remove_prefix(end + 1);
  return true;
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
