#pragma once

/// Forecast of a series' maximum within the horizon. Pure; no clock.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "base/clock.hpp"
#include "usage/backtest.hpp"
#include "usage/samples.hpp"

namespace usage {

enum class ForecastRule {
  kTrend,      ///< damped trend, with a level that follows the last minutes
  kSlowTrend,  ///< damped trend, with a level that follows the last half hour
  kDaily,      ///< Holt-Winters with a daily season; deviations from it fade within the hour
  kSlowDaily,  ///< Holt-Winters with a daily season; deviations in the last hour persist
  kWeekly,     ///< kDaily with an additional weekly season, from the second week on
  kYesterday,  ///< maximum of the same hours of the previous day; best for a load that repeats itself
};
std::string_view to_string(ForecastRule rule);
inline constexpr std::size_t kModels =
    BackTest::kUncorrectedRule;  ///< number of rules with a level: all but kYesterday

/// Forecast with its accuracy. Errors are the mean absolute error of the maximum within the horizon, in the unit of the
/// series, over the last days of the back-test.
struct Forecast {
  double middle = kUnknown;          ///< median: equally likely to be too high or too low
  double peak = kUnknown;            ///< at the settings' percentile of the forecast's own errors; not negative
  double error = kUnknown;           ///< error of `middle`, kUnknown until enough forecasts were judged
  double naive_error = kUnknown;     ///< error of the forecast "same as now"
  double seasonal_error = kUnknown;  ///< error of the forecast "same as this time yesterday", if there was one
  std::uint32_t judged = 0;          ///< number of judged forecasts
  ForecastRule rule = ForecastRule::kTrend;
  bool trusted =
      false;  ///< the error is lower than that of "as now" beyond chance, and not above that of "as yesterday"
};

/// Constants derived from the settings, shared by all series.
struct ForecastRates {
  explicit ForecastRates(const api::UsageForecast& settings);

  struct Level {
    float level, trend;  ///< fraction of a surprise that goes into each
    float damping;       ///< factor of the trend per step
  };
  base::Duration step;
  base::Duration slot;    ///< slot of the daily season
  base::Duration stride;  ///< interval between forecasts of the back-test
  std::uint32_t horizon;  ///< in steps
  std::size_t slots;      ///< per day
  std::size_t strides;    ///< per day
  std::uint32_t min_judged;
  BackTest::Settings backtest;
  bool weekly;  ///< the history is long enough
  std::array<Level, kModels> levels;
  float usual;       ///< rate of the long-term level
  float usual_week;  ///< rate of the long-term level under a weekly season
  float fade;        ///< factor of the current deviation per step
};

/// Forecasts one series with a fixed step. Uses about 1.5 KB, plus 0.7 KB with a weekly season. The cost of add() does
/// not depend on the length of the series. The cost of forecast() is linear in the steps of the horizon.
class Forecaster {
 public:
  /// `start` is the time of the first value.
  Forecaster(std::shared_ptr<const ForecastRates> rates, base::TimePoint start);

  /// Adds the value of the next step, kUnknown for a gap.
  void add(double value);
  /// Raises the level of the series by `by` for a known reason. Earlier deviations from the usual level stay
  /// deviations, and open forecasts are not judged.
  void shift(double by);
  /// Returns the forecast for the steps after the last value.
  Forecast forecast() const;
  /// Returns the time of the next value.
  base::TimePoint next() const { return next_; }

 private:
  struct Level {
    float value = 0;
    float trend = 0;
  };
  struct Place {  ///< position between two slots
    std::size_t slot, other;
    float share;  ///< weight of `other`
  };

  Place place_of(base::TimePoint time) const;
  float season_at(ForecastRule rule, base::TimePoint time) const;
  void begin(float value);
  void follow(float value);
  void skip();
  void learn_first_day(float value);
  void end_first_day();
  void learn_season(float value);
  void learn_week(float value);
  void open_if_due(base::TimePoint now);
  float peak_of(ForecastRule rule) const;
  float yesterday() const;
  std::size_t stride_of(base::TimePoint time) const;
  bool is_ready(ForecastRule rule) const;

  std::shared_ptr<const ForecastRates> rates_;
  base::TimePoint start_;
  base::TimePoint next_;
  base::TimePoint known_{};  ///< time of the last value that was not a gap
  float last_ = 0;           ///< value at known_
  bool partial_line_ = false;
  bool seasonal_ = false;      ///< season_ contains a full day
  std::uint32_t in_slot_ = 0;  ///< number of values in the current slot during the first day
  std::array<Level, kModels> levels_{};
  float usual_ = 0;
  float usual_week_ = 0;
  std::vector<float> season_;  ///< by slot of the day
  std::vector<float> week_;    ///< by hour of the week, in addition to season_; empty without a weekly season
  std::vector<float> peaks_;   ///< by stride of the day: maximum of the steps after it, from yesterday
  BackTest backtest_;
};

/// Returns the forecast of a whole series. Its step must be that of the settings.
Forecast forecast(const Series& series, const api::UsageForecast& settings);

/// Accuracy of the forecasts of many series. Ratios of mean errors, below 1 if the forecast was better. kUnknown if no
/// forecast was judged, or the naive forecast never had an error.
struct ForecastQuality {
  std::uint32_t trusted = 0;
  std::uint32_t judged = 0;        ///< number of series with enough judged forecasts
  double ratio_to_now = kUnknown;  ///< relative to the error of "as now"
  double to_yesterday = kUnknown;  ///< relative to the error of "as at this time yesterday", where known
};
/// REQUIRES: the forecasts are of one column, so that their errors have the same unit.
ForecastQuality quality_of(std::span<const Forecast> forecasts);
/// Combines several columns. Each has the same weight, whatever its unit.
ForecastQuality quality_of_columns(std::span<const ForecastQuality> columns);

}  // namespace usage
