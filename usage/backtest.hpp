#pragma once

/// How wrong forecasts of a series' highest value until the horizon were. Pure; no clock.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace usage {

/// Lets several rules forecast the highest of the next values from time to time, waits, and compares: a rolling-origin
/// back-test that goes on for as long as values come. What a rule is wrong by on average is added to its next
/// forecasts; its error is that of the forecasts so corrected, as they were when they were made. The last rule, and
/// those to compare with, are taken as they are. Old errors fade. A few hundred bytes. REQUIRES: the settings outlive
/// it.
class BackTest {
 public:
  static constexpr std::size_t kRules = 6;
  static constexpr std::size_t kAsGiven = kRules - 1;  ///< this one is never corrected
  static constexpr std::size_t kNaive = 2;             ///< those to compare with
  /// NaN: the rule has none now, and is not judged by this one.
  struct Forecasts {
    std::array<float, kRules> rules;
    std::array<float, kNaive> naive;
  };
  /// Of one rule; errors in the unit of the values.
  struct Record {
    float error = 0;  ///< mean absolute
    float bias = 0;   ///< what it was too low by before that was added: near the median, rare surprises count little;
                      ///< of what is taken as it is: 0
    float deviation = 0;  ///< mean absolute, around the bias
    float width = 0;      ///< so many deviations above the corrected forecast lies the percentile of its errors
    std::uint32_t count = 0;
  };

  struct Settings {
    std::uint32_t horizon = 1;  ///< of how many next values the highest is foreseen
    double fading = 16;         ///< after so many forecasts an old error counts for a third
    double overlap = 1;         ///< so many forecasts speak about the same value: they are one witness only. At least 1
    double share = 0.9;         ///< of the highest values that are to be at or below Record::width
    double width = 1.6;         ///< before anything is known
  };
  explicit BackTest(const Settings& settings) : settings_(&settings) { reset(); }
  explicit BackTest(Settings&& settings) = delete;

  /// These are forecast for the values from the next one on.
  void open(const Forecasts& forecasts);
  /// The next value; NaN: a gap. A forecast for values of which more than half are gaps is not judged.
  void add(double value);
  /// The highest value that the oldest open forecast met in the last add(); NaN: it judged none.
  float judged() const { return judged_; }
  /// Forecasts under way are not judged.
  void drop_open() { open_.clear(); }
  /// All errors so far are forgotten.
  void reset();

  const Record& rule(std::size_t rule) const { return rules_[rule]; }
  const Record& naive(std::size_t naive) const { return naive_[naive]; }
  /// The rule's errors were less than those of the naive one, by more than chance explains.
  /// True where the naive one never had a forecast.
  bool is_better(std::size_t rule, std::size_t naive) const;

 private:
  struct Open {
    std::uint32_t left = 0;
    std::uint32_t known = 0;
    float peak = 0;
    Forecasts raw;
    std::array<float, kRules> corrected;
  };
  struct Gain {  ///< what a rule's error was less than a naive one's
    float mean = 0;
    float square = 0;
    std::uint32_t count = 0;
  };
  float rate(std::uint32_t count) const;
  void judge(const Open& open);
  void learn(Record& record, float raw, float used, float peak, bool is_corrected) const;

  const Settings* settings_;
  float judged_ = 0;
  std::array<Record, kRules> rules_{};
  std::array<Record, kNaive> naive_{};
  std::array<std::array<Gain, kNaive>, kRules> gains_{};
  std::vector<Open> open_;  ///< the oldest first
};

}  // namespace usage
