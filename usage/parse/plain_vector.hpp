#pragma once

/// Fast parser for vectors in the exact form that Prometheus writes:
/// [{"metric":{"pod":"p"},"value":[1763726400.123,"0.5"]},…] without spaces and escapes; and for matrices of whole
/// numbers: [{"metric":{…},"values":[[1763726400,"-47"],…]},…]. Reads a hundred thousand series, or a million points,
/// in one pass, without the memory of a general parser.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace usage {

struct PlainSample {
  std::string_view time;   ///< digits, optionally with a decimal point and more digits
  std::string_view value;  ///< without quotes
};

/// Values for -Inf and +Inf.
inline constexpr std::int32_t kBelowAll = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int32_t kAboveAll = std::numeric_limits<std::int32_t>::max();
/// Converts the text of a sample to a whole number. Values out of range become kBelowAll or kAboveAll. Returns nullopt
/// for NaN and for other numbers that are not whole.
std::optional<std::int32_t> whole_number_of(std::string_view text);

class PlainVector {
 public:
  explicit PlainVector(std::string_view text) : rest_(text) {}

  /// Reads the series of the array at the start of `text`. Calls take_label(key, value) for each label of a series,
  /// then take_sample(sample), which returns false to stop. Returns false if stopped, or if the array has another form
  /// or does not end; discard everything taken so far then. All texts are views without control characters, and valid
  /// UTF-8 if `text` is.
  template <typename TakeLabel, typename TakeSample>
  bool read(TakeLabel&& take_label, TakeSample&& take_sample);
  /// Reads a matrix. Calls take_number(number) for each point of a series except NaN, then take_series(), which returns
  /// false to stop. Returns false under the conditions of read(), and for numbers that are not whole. REQUIRES: `text`
  /// ends at its string's end.
  template <typename TakeLabel, typename TakeNumber, typename TakeSeries>
  bool read_numbers(TakeLabel&& take_label, TakeNumber&& take_number, TakeSeries&& take_series);
  /// Returns the text after the array. REQUIRES: reading it returned true.
  std::string_view rest() const { return rest_; }

 private:
  template <std::size_t N>
  bool take(const char (&expected)[N]) {
    constexpr std::size_t kSize = N - 1;
    if (rest_.size() < kSize || std::memcmp(rest_.data(), expected, kSize) != 0) return false;
    rest_.remove_prefix(kSize);
    return true;
  }
  template <typename TakeLabel>
  bool take_labels(TakeLabel&& take_label);
  bool take_text(std::string_view& text);
  bool take_time(std::string_view& time);
  template <typename TakeNumber>
  bool take_points(TakeNumber&& take_number);
  bool take_slow_point(std::optional<std::int32_t>& number);

  std::string_view rest_;
};

template <typename TakeLabel, typename TakeSample>
bool PlainVector::read(TakeLabel&& take_label, TakeSample&& take_sample) {
  if (!take("[")) return false;
  if (take("]")) return true;
  do {
    PlainSample sample;
    const bool is_plain = take_labels(take_label) && take(R"(,"value":[)") && take_time(sample.time) && take(",") &&
                          take_text(sample.value) && take("]}");
    if (!is_plain || !take_sample(sample)) return false;
  } while (take(","));
  return take("]");
}

template <typename TakeLabel>
bool PlainVector::take_labels(TakeLabel&& take_label) {
  if (!take(R"({"metric":{)")) return false;
  if (take("}")) return true;
  do {
    std::string_view key;
    std::string_view value;
    if (!take_text(key) || !take(":") || !take_text(value)) return false;
    take_label(key, value);
  } while (take(","));
  return take("}");
}

template <typename TakeLabel, typename TakeNumber, typename TakeSeries>
bool PlainVector::read_numbers(TakeLabel&& take_label, TakeNumber&& take_number, TakeSeries&& take_series) {
  if (!take("[")) return false;
  if (take("]")) return true;
  do {
    const bool is_plain = take_labels(take_label) && take(R"(,"values":[)") && take_points(take_number) && take("]}");
    if (!is_plain || !take_series()) return false;
  } while (take(","));
  return take("]");
}

/// Fast path for [1763726400,"-47"],[1763726700,"-45"], which covers nine of ten points. The string's terminating 0
/// stops every loop.
template <typename TakeNumber>
bool PlainVector::take_points(TakeNumber&& take_number) {
  constexpr int kMaxDigits = 8;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (true) {
    const char* at = rest_.data();
    if (*at != '[') return false;
    do ++at;
    while (is_digit(*at));
    if (*at == ',' && at[1] == '"') {
      at += 2;
      const bool is_negative = *at == '-';
      at += is_negative ? 1 : 0;
      const char* const first = at;
      std::int32_t number = 0;
      while (is_digit(*at) && at - first < kMaxDigits) number = number * 10 + (*at++ - '0');
      if (at != first && *at == '"' && at[1] == ']') {
        take_number(is_negative ? -number : number);
        rest_.remove_prefix(static_cast<std::size_t>(at + 2 - rest_.data()));
        if (!take(",")) return true;
        continue;
      }
    }
    std::optional<std::int32_t> number;
    if (!take_slow_point(number)) return false;
    if (number) take_number(*number);
    if (!take(",")) return true;
  }
}

}  // namespace usage
