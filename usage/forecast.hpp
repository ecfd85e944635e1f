#pragma once

/// The highest value of a series until the horizon, foreseen. Pure; no clock.

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
  kTrend,      ///< damped trend on a level that follows the last minutes
  kSlowTrend,  ///< the same on the last half hour's
  kDaily,      ///< Holt-Winters with a daily season; what is unusual now fades within the hour
  kSlowDaily,  ///< the same; what is unusual in the last hour lasts
  kWeekly,     ///< kDaily with a weekly season over it, from the second week on
  kYesterday,  ///< the highest of the same hours of the day before: of a load that repeats itself nothing is better
};
std::string_view to_string(ForecastRule rule);
inline constexpr std::size_t kModels = BackTest::kAsGiven;  ///< rules with a level: all but kYesterday

/// Errors are means of the absolute error of the highest value within the horizon, in the unit of the series, over the
/// back-test's last days.
struct Forecast {
  double middle = kUnknown;          ///< as likely too high as too low
  double peak = kUnknown;            ///< at the settings' percentile of the forecast's own errors; never negative
  double error = kUnknown;           ///< of `middle`; kUnknown until enough were judged
  double naive_error = kUnknown;     ///< of "as now"
  double seasonal_error = kUnknown;  ///< of "as at this time yesterday"; kUnknown before there was one
  std::uint32_t judged = 0;          ///< forecasts in the back-test
  ForecastRule rule = ForecastRule::kTrend;
  bool trusted =
      false;  ///< the error is less than that of "as now" beyond chance, and not above that of "as yesterday"
};

/// What follows from the settings; one for all series.
struct ForecastRates {
  explicit ForecastRates(const api::UsageForecast& settings);

  struct Level {
    float level, trend;  ///< how much of a surprise goes into each
    float damping;       ///< what is left of the trend after a step
  };
  base::Duration step;
  base::Duration slot;    ///< of the daily season
  base::Duration stride;  ///< between two forecasts of the back-test
  std::uint32_t horizon;  ///< in steps
  std::size_t slots;      ///< a day
  std::size_t strides;    ///< a day
  std::uint32_t least_judged;
  BackTest::Settings backtest;
  bool weekly;  ///< the history is long enough
  std::array<Level, kModels> levels;
  float usual;       ///< rate of the long-term level
  float usual_week;  ///< and of that under a weekly season
  float fade;        ///< what is left after a step of what is unusual now
};

/// Follows one series in even steps. Takes about 1.5 KB, and 0.7 KB more with a weekly season. add() costs the same
/// however long the series is; forecast() as much as the horizon has steps.
class Forecaster {
 public:
  /// `start`: the time of the first value.
  Forecaster(std::shared_ptr<const ForecastRates> rates, base::TimePoint start);

  /// The next step's value; kUnknown: a gap.
  void add(double value);
  /// From now on the series is higher by so much, for a reason that is known: what was unusual before stays unusual,
  /// and forecasts under way are not judged.
  void shift(double by);
  /// Of the steps after the last value.
  Forecast forecast() const;
  /// When the next value belongs.
  base::TimePoint next() const { return next_; }

 private:
  struct Level {
    float value = 0;
    float trend = 0;
  };
  struct Place {  ///< between two slots
    std::size_t slot, other;
    float share;  ///< of the other
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
  base::TimePoint known_{};  ///< of the last value that was no gap
  float last_ = 0;           ///< that value
  bool begun_ = false;
  bool seasonal_ = false;      ///< season_ holds a day
  std::uint32_t in_slot_ = 0;  ///< values of the first day in the slot that is now
  std::array<Level, kModels> levels_{};
  float usual_ = 0;
  float usual_week_ = 0;
  std::vector<float> season_;  ///< by slot of the day
  std::vector<float> week_;    ///< by hour of the week, over the season; empty: not asked for
  std::vector<float> peaks_;   ///< by stride of the day: the highest of the steps after it, yesterday
  BackTest backtest_;
};

/// Of a whole series. Its step has to be that of the settings.
Forecast forecast(const Series& series, const api::UsageForecast& settings);

/// How good the forecasts of many series are. Ratios of the mean errors: below 1, the forecast was better. kUnknown
/// where nothing was judged, or the naive forecast never erred.
struct ForecastQuality {
  std::uint32_t trusted = 0;
  std::uint32_t judged = 0;        ///< series with enough judged forecasts
  double to_now = kUnknown;        ///< to the error of "as now"
  double to_yesterday = kUnknown;  ///< to that of "as at this time yesterday", over the series that had one
};
/// REQUIRES: the forecasts are of one column, so that their errors have one unit.
ForecastQuality quality_of(std::span<const Forecast> forecasts);
/// Of several columns: each counts as much as the others, whatever its unit.
ForecastQuality quality_of_columns(std::span<const ForecastQuality> columns);

}  // namespace usage
