#include "api/meta/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace api {
namespace {

__extension__ typedef unsigned __int128 Wide;  // not `using`: clang refuses __extension__ there

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
/// Maximum length of a text. Longer than any real amount; keeps hostile text cheap.
constexpr std::size_t kMaxQuantityText = 256;
/// With an exponent beyond this, the result is zero or saturated whatever the digits (at most kMaxQuantityText).
constexpr int kExponentCap = 1000;
/// Number of fraction digits used with a binary suffix; more would not fit into 128 bits. Further digits round up.
constexpr std::size_t kBinaryFractionDigits = 15;

struct Suffix {
  int power_of_ten = 0;
  int power_of_two = 0;
};

/// Digits of an unsigned decimal number; `before_point` of them precede the decimal point.
struct DecimalText {
  std::string digits;
  std::size_t before_point = 0;
};

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<DecimalText> take_decimal(std::string_view* text) {
  DecimalText number;
  bool seen_point = false;
  std::size_t at = 0;
  for (; at < text->size(); ++at) {
    const char c = (*text)[at];
    if (is_decimal_digit(c)) {
      number.digits.push_back(c);
      if (!seen_point) ++number.before_point;
    } else if (c == '.' && !seen_point) {
      seen_point = true;
    } else {
      break;
    }
  }
  if (number.digits.empty()) return std::nullopt;
  text->remove_prefix(at);
  return number;
}

std::optional<Suffix> parse_exponent(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int exponent = 0;
  for (const char c : text) {
    if (!is_decimal_digit(c)) return std::nullopt;
    if (exponent < kExponentCap) exponent = exponent * 10 + (c - '0');
  }
  return Suffix{minus ? -exponent : exponent, 0};
}

std::optional<Suffix> parse_suffix(std::string_view text) {
  struct Named {
    std::string_view name;
    Suffix suffix;
  };
  static constexpr std::array kSuffixes = {
      Named{"", {0, 0}},    Named{"m", {-3, 0}},  Named{"k", {3, 0}},   Named{"M", {6, 0}},
      Named{"G", {9, 0}},   Named{"Ki", {0, 10}}, Named{"Mi", {0, 20}}, Named{"Gi", {0, 30}},
      Named{"Ti", {0, 40}}, Named{"Pi", {0, 50}}, Named{"Ei", {0, 60}}, Named{"T", {12, 0}},
      Named{"P", {15, 0}},  Named{"E", {18, 0}},  Named{"u", {-6, 0}},  Named{"n", {-9, 0}}};
  for (const Named& named : kSuffixes) {
    if (named.name == text) return named.suffix;
  }
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  return parse_exponent(text.substr(1));
}

bool any_nonzero(std::string_view digits) { return digits.find_first_not_of('0') != std::string_view::npos; }

std::int64_t capped(Wide value) { return value > static_cast<Wide>(kMax) ? kMax : static_cast<std::int64_t>(value); }

/// Returns the integer that `digits` represent, capped at the maximum of int64.
std::int64_t capped_digits(std::string_view digits) {
  Wide value = 0;
  for (const char c : digits) {
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > static_cast<Wide>(kMax)) return kMax;
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t plus_one_if(std::int64_t value, bool more) { return more && value < kMax ? value + 1 : value; }

/// Moves the decimal point by `power` places and rounds up.
std::int64_t scale_by_ten(const DecimalText& number, int power) {
  const std::string_view digits = number.digits;
  if (!any_nonzero(digits)) return 0;
  const std::int64_t point = static_cast<std::int64_t>(number.before_point) + power;
  if (point <= 0) return 1;
  const auto whole = static_cast<std::size_t>(point);
  if (whole <= digits.size())
    return plus_one_if(capped_digits(digits.substr(0, whole)), any_nonzero(digits.substr(whole)));
  std::int64_t value = capped_digits(digits);
  for (std::size_t zeros = whole - digits.size(); zeros > 0 && value < kMax; --zeros) {
    value = value > kMax / 10 ? kMax : value * 10;
  }
  return value;
}

/// Returns the thousandths of number × 2^power, rounded up.
std::int64_t scale_by_two(const DecimalText& number, int power) {
  const std::string_view digits = number.digits;
  const Wide factor = (static_cast<Wide>(1) << power) * 1000;
  const Wide whole = static_cast<Wide>(capped_digits(digits.substr(0, number.before_point)));
  const Wide capacity = static_cast<Wide>(kMax) / factor;
  if (whole > capacity) return kMax;

  std::string_view fraction = digits.substr(number.before_point);
  const bool cut = fraction.size() > kBinaryFractionDigits && any_nonzero(fraction.substr(kBinaryFractionDigits));
  fraction = fraction.substr(0, kBinaryFractionDigits);
  Wide divisor = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) divisor *= 10;
  const Wide scaled = static_cast<Wide>(capped_digits(fraction)) * factor;
  const Wide total = whole * factor + scaled / divisor;
  return plus_one_if(capped(total), cut || scaled % divisor != 0);
}

}  // namespace

Quantity Quantity::from_units(std::int64_t units) {
  if (units > kMax / 1000) return Quantity(kMax);
  if (units < kMin / 1000) return Quantity(kMin);
  return Quantity(units * 1000);
}

std::optional<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty() || text.size() > kMaxQuantityText) return std::nullopt;
  const bool minus = text.front() == '-';
  if (minus || text.front() == '+') text.remove_prefix(1);
  const auto number = take_decimal(&text);
  if (!number) return std::nullopt;
  const auto suffix = parse_suffix(text);
  if (!suffix) return std::nullopt;
  const std::int64_t milli = suffix->power_of_two > 0 ? scale_by_two(*number, suffix->power_of_two)
                                                      : scale_by_ten(*number, suffix->power_of_ten + 3);
  return Quantity(minus ? -milli : milli);
}

std::string Quantity::to_string(bool binary) const {
  if (milli_ % 1000 != 0) return fmt::format("{}m", milli_);
  const std::int64_t whole = milli_ / 1000;
  if (!binary || whole == 0) return fmt::format("{}", whole);
  static constexpr std::array<std::string_view, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::int64_t shown = whole;
  std::size_t step = 0;
  while (shown % 1024 == 0 && step + 1 < kBinary.size()) {
    shown /= 1024;
    ++step;
  }
  return fmt::format("{}{}", shown, kBinary[step]);
}

Quantity& Quantity::operator+=(Quantity other) {
  if (__builtin_add_overflow(milli_, other.milli_, &milli_)) milli_ = other.milli_ > 0 ? kMax : kMin;
  return *this;
}

Quantity& Quantity::operator-=(Quantity other) {
  std::int64_t difference = 0;
  const bool overflow = __builtin_sub_overflow(milli_, other.milli_, &difference);
  milli_ = !overflow ? difference : other.milli_ < 0 ? kMax : kMin;
  return *this;
}

}  // namespace api
