#pragma once

/// Accuracy of forecasts of a series' maximum within the horizon. Pure; no clock.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace usage {

/// Rolling-origin back-test that continues as long as values arrive: several rules forecast the maximum of the next
/// values at intervals, and their forecasts are compared with it afterwards. A rule's average bias is added to its next
/// forecasts. Its error is that of the corrected forecasts, as corrected when they were made. The last rule and the
/// naive forecasts are not corrected. Old errors fade. Uses a few hundred bytes. REQUIRES: the settings outlive the
/// back-test.
class BackTest {
 public:
  static constexpr std::size_t kRules = 6;
  static constexpr std::size_t kUncorrectedRule = kRules - 1;  ///< rule that is never corrected
  static constexpr std::size_t kNaive = 2;                     ///< number of naive forecasts to compare with
  /// NaN if the rule has no forecast now; the rule is then not judged.
  struct Forecasts {
    std::array<float, kRules> rules;
    std::array<float, kNaive> naive;
  };
  /// Errors of one rule, in the unit of the values.
  struct Record {
    float error = 0;  ///< mean absolute error
    /// Average amount by which the uncorrected forecast was too low. Close to the median, because rare surprises are
    /// clamped. 0 for uncorrected rules.
    float bias = 0;
    float deviation = 0;  ///< mean absolute deviation around the bias
    float width = 0;      ///< distance of the percentile from the corrected forecast, in deviations
    std::uint32_t count = 0;
  };

  struct Settings {
    std::uint32_t horizon = 1;  ///< number of next values whose maximum is forecast
    double fading = 16;         ///< number of forecasts after which the weight of an error falls to about a third
    /// Number of forecasts that include the same value and so count as one observation. At least 1.
    double overlap = 1;
    double share = 0.9;  ///< fraction of maxima that must be at or below Record::width
    double width = 1.6;  ///< initial Record::width
  };
  explicit BackTest(const Settings& settings) : settings_(&settings) { reset(); }
  explicit BackTest(Settings&& settings) = delete;

  /// Starts judging `forecasts`, which are for the values from the next add() on.
  void open(const Forecasts& forecasts);
  /// Adds the next value, NaN for a gap. A forecast is not judged if more than half of its values are gaps.
  void add(double value);
  /// Returns the maximum that the last add() compared with the oldest open forecast, NaN if it judged none.
  float judged() const { return judged_; }
  /// Discards open forecasts without judging them.
  void drop_open() { open_.clear(); }
  /// Resets all errors.
  void reset();

  const Record& rule(std::size_t rule) const { return rules_[rule]; }
  const Record& naive(std::size_t naive) const { return naive_[naive]; }
  /// Returns true if the rule's error is lower than the naive forecast's by more than chance explains, or if the naive
  /// forecast never had a value.
  bool is_better(std::size_t rule, std::size_t naive) const;

 private:
  struct Open {
    std::uint32_t left = 0;
    std::uint32_t known = 0;
    float peak = 0;
    Forecasts raw;
    std::array<float, kRules> corrected;
  };
  struct Gain {  ///< difference between a naive forecast's error and the rule's
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
  std::vector<Open> open_;  ///< oldest first
};

}  // namespace usage
