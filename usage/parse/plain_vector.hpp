#pragma once

/// Vectors just as Prometheus writes them: [{"metric":{"pod":"p"},"value":[1763726400.123,"0.5"]},…] without spaces and
/// escapes. A hundred thousand series are read in one pass, without a general parser and its memory.

#include <cstddef>
#include <cstring>
#include <string_view>

namespace usage {

struct PlainSample {
  std::string_view time;   ///< digits, and perhaps a point with digits behind it
  std::string_view value;  ///< without its quotes
};

class PlainVector {
 public:
  explicit PlainVector(std::string_view text) : rest_(text) {}

  /// Reads the series of the array that `text` begins with: take_label(key, value) for the labels of each, then
  /// take_sample(sample), which returns false to stop. False: it was stopped, the array is written in another way, or
  /// it does not end; what was taken up to there means nothing. All texts are views, valid UTF-8 if `text` is, without
  /// control characters.
  template <typename TakeLabel, typename TakeSample>
  bool read(TakeLabel&& take_label, TakeSample&& take_sample);
  /// What stands behind the array. REQUIRES: read() returned true.
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

}  // namespace usage
