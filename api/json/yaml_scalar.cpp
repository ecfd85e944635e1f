#include "api/json/yaml_scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace api {
namespace {

constexpr std::size_t kMaxNumber = 512;
constexpr double kIntegersEndAt = 9007199254740992.0;  // 2^53

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, text) != names.end();
}

bool is_null_word(std::string_view text) { return is_one_of(text, {"", "~", "null", "Null", "NULL"}); }

std::optional<bool> boolean_word(std::string_view text) {
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})) return false;
  return std::nullopt;
}

bool is_infinite_or_nan_word(std::string_view text) {
  if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return true;
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return is_one_of(text, {".inf", ".Inf", ".INF"});
}

/// Removes a prefix (0x, 0o, 0b, or a leading 0 for octal) and returns the base.
int take_base(std::string_view* digits) {
  if (digits->size() < 2 || digits->front() != '0') return 10;
  const char mark = static_cast<char>(std::tolower(static_cast<unsigned char>((*digits)[1])));
  const int base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
  digits->remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  return base;
}

std::optional<Json> integer_scalar(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  const int base = take_base(&text);
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  constexpr std::uint64_t kMaxNegative = std::uint64_t{1} << 63U;
  if (!minus) return magnitude < kMaxNegative ? Json(static_cast<std::int64_t>(magnitude)) : Json(magnitude);
  if (magnitude > kMaxNegative) return std::nullopt;
  return Json(static_cast<std::int64_t>(0 - magnitude));
}

/// [-+]? (.digits | digits[.digits]) ([eE][-+]?digits)?
bool is_decimal(std::string_view text) {
  const auto take_digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t before = take_digits();
  std::size_t behind = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    behind = take_digits();
  }
  if (before + behind == 0) return false;
  if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return take_digits() > 0 && text.empty();
}

std::optional<Json> decimal_scalar(std::string_view text) {
  if (!is_decimal(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  // JSON writes 1e3 as 1000, which later readers take for an integer.
  const bool whole = value == std::floor(value) && std::abs(value) < kIntegersEndAt;
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

/// "2001-12-14", and any text with such a beginning.
bool looks_like_date(std::string_view text) {
  return text.size() >= 8 && text[4] == '-' &&
         std::all_of(text.begin(), text.begin() + 4, [](char c) { return c >= '0' && c <= '9'; });
}

/// "12:30:45", which YAML 1.1 reads in base 60.
bool looks_like_base60(std::string_view text) {
  return text.find(':') != std::string_view::npos &&
         text.find_first_not_of("0123456789_:.+-") == std::string_view::npos;
}

}  // namespace

std::optional<Json> resolve_plain_scalar(std::string_view text) {
  if (is_null_word(text)) return Json(nullptr);
  if (const auto boolean = boolean_word(text)) return Json(*boolean);
  if (is_infinite_or_nan_word(text)) return std::nullopt;
  const char first = text.front();
  const bool numeric = (first >= '0' && first <= '9') || first == '+' || first == '-' || first == '.';
  if (!numeric || text.size() > kMaxNumber || looks_like_date(text)) return Json(std::string(text));
  std::string plain(text);
  if (first != '.') std::erase(plain, '_');
  if (auto integer = integer_scalar(plain)) return integer;
  if (auto decimal = decimal_scalar(plain)) return decimal;
  return Json(std::string(text));
}

bool is_ambiguous_plain_scalar(std::string_view text) {
  const auto resolved = resolve_plain_scalar(text);
  return !resolved || !resolved->is_string() || looks_like_date(text) || looks_like_base60(text) || text == "<<" ||
         text == "=";
}

}  // namespace api
