#include "usage/forecast.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

namespace usage_forecast_test {

using usage::Forecast;
using usage::ForecastRule;
using usage::kUnknown;
using usage::Series;

constexpr std::size_t kDay = 288;
const base::TimePoint kMonday = base::parse_time("2026-06-01T00:00:00Z").value();

/// Deterministic noise from -0.5 to 0.5, uniformly distributed.
double noise(std::size_t i) {
  return std::sin(static_cast<double>(i) * 12.9898) * 43758.5453 -
         std::floor(std::sin(static_cast<double>(i) * 12.9898) * 43758.5453) - 0.5;
}

double wave(std::size_t i) { return 50 + 20 * std::sin(2 * std::numbers::pi * static_cast<double>(i) / kDay); }

template <typename F>
Series series_of(std::size_t count, F&& value) {
  Series series{"n1", "cpu", kMonday, base::minutes(5), {}};
  for (std::size_t i = 0; i < count; ++i) series.values.push_back(static_cast<float>(value(i)));
  return series;
}

TEST(Forecast, PredictsTheDailyPeak) {
  const std::size_t count = 3 * kDay + 24;  // 02:00. The wave rises until 06:00.
  const Forecast forecast = usage::forecast(series_of(count, [](auto i) { return wave(i) + noise(i); }), {});
  const double actual = wave(count + 11);
  EXPECT_TRUE(forecast.trusted);
  EXPECT_NEAR(forecast.middle, actual, 2);
  EXPECT_GT(forecast.middle, wave(count - 1) + 3) << "as now is too low";
  EXPECT_GE(forecast.peak, forecast.middle);
  EXPECT_LT(forecast.error, forecast.naive_error);
  EXPECT_LT(forecast.error, forecast.seasonal_error);
}

TEST(Forecast, CoversTheHorizon) {
  api::UsageForecast far;
  far.horizon = std::chrono::hours(6);
  const auto series = series_of(4 * kDay, [](auto i) { return wave(i) + noise(i); });  // Midnight
  EXPECT_NEAR(usage::forecast(series, far).middle, 70, 3);
  EXPECT_NEAR(usage::forecast(series, {}).middle, wave(12), 3);
}

TEST(Forecast, FollowsATrendIfTheHistoryIsShort) {
  const auto series = series_of(100, [](auto i) { return 10 + 0.2 * static_cast<double>(i) + 0.1 * noise(i); });
  const Forecast forecast = usage::forecast(series, {});
  EXPECT_TRUE(forecast.trusted);
  EXPECT_LE(forecast.rule, ForecastRule::kSlowTrend);
  EXPECT_NEAR(forecast.middle, 10 + 0.2 * 111, 0.5);
  EXPECT_TRUE(std::isnan(forecast.seasonal_error));
}

TEST(Forecast, PredictsTheWeekendIfTheHistoryIsLong) {
  const auto week = [](std::size_t i) { return (i / kDay % 7 >= 5 ? 0.4 : 1.0) * wave(i) + noise(i); };
  api::UsageForecast settings;
  settings.history = std::chrono::hours(24 * 28);
  settings.horizon = std::chrono::hours(2);
  const std::size_t saturday = (21 + 5) * kDay;
  const Forecast forecast = usage::forecast(series_of(saturday - 6, week), settings);
  settings.history = std::chrono::hours(48);
  const Forecast daily = usage::forecast(series_of(saturday - 6, week), settings);
  EXPECT_EQ(daily.rule == ForecastRule::kWeekly, false);
  EXPECT_LT(forecast.error, daily.error);
}

TEST(Forecast, TrustsNothingBeforeItWasTested) {
  const Forecast forecast = usage::forecast(series_of(10, wave), {});
  EXPECT_FALSE(forecast.trusted);
  EXPECT_EQ(forecast.judged, 0U);
  EXPECT_TRUE(std::isnan(forecast.error));
  EXPECT_FALSE(std::isnan(forecast.middle));
}

/// Rules that are better only by noise must not win. In that case yesterday's value is used.
TEST(Forecast, RepeatsYesterdayIfNoRuleIsBetter) {
  api::UsageForecast far;
  far.horizon = std::chrono::hours(8);
  far.percentile = 50;
  std::size_t by_yesterday = 0;
  for (std::size_t shift = 0; shift < 40; ++shift) {
    const auto series = series_of(14 * kDay, [&](auto i) { return wave(i) + 0.3 * noise(i + 7919 * shift); });
    const Forecast forecast = usage::forecast(series, far);
    EXPECT_TRUE(forecast.trusted) << shift;
    EXPECT_LE(forecast.error, forecast.seasonal_error) << shift;
    EXPECT_NEAR(forecast.middle, 70, 1) << shift;  // Midnight. The peak is six hours away.
    by_yesterday += forecast.rule == ForecastRule::kYesterday ? 1 : 0;
    if (forecast.rule == ForecastRule::kYesterday) {
      EXPECT_EQ(forecast.error, forecast.seasonal_error) << "as it is";
    }
  }
  EXPECT_GT(by_yesterday, 0U);
}

TEST(Forecast, IsUnknownWithoutValues) {
  EXPECT_TRUE(std::isnan(usage::forecast(series_of(0, wave), {}).middle));
  EXPECT_TRUE(std::isnan(usage::forecast(series_of(kDay, [](auto) { return kUnknown; }), {}).peak));
}

TEST(Forecast, IsUnknownAfterAGapOfTheHorizon) {
  const auto silent = [](std::size_t i) { return i < 2 * kDay ? wave(i) : kUnknown; };
  EXPECT_FALSE(std::isnan(usage::forecast(series_of(2 * kDay + 6, silent), {}).peak));
  EXPECT_TRUE(std::isnan(usage::forecast(series_of(2 * kDay + 13, silent), {}).peak));
}

TEST(Forecast, SurvivesGaps) {
  const std::size_t count = 4 * kDay + 24;
  const auto holes = [](std::size_t i) { return i % 7 == 3 || (i > 400 && i < 440) ? kUnknown : wave(i) + noise(i); };
  const Forecast forecast = usage::forecast(series_of(count, holes), {});
  EXPECT_TRUE(forecast.trusted);
  EXPECT_NEAR(forecast.middle, wave(count + 11), 3);
}

TEST(Forecast, SurvivesAnyInput) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto absurd = [&](std::size_t i) { return i % 3 == 0 ? infinity : i % 3 == 1 ? 1e38 : 5.0; };
  const Forecast forecast = usage::forecast(series_of(3 * kDay, absurd), {});
  EXPECT_NEAR(forecast.middle, 5, 0.5);
}

TEST(Forecast, IsNeverNegative) {
  const auto falling = [](std::size_t i) { return std::max(30 - 0.3 * static_cast<double>(i), 0.0); };
  const Forecast forecast = usage::forecast(series_of(101, falling), {});
  EXPECT_GE(forecast.middle, 0);
  EXPECT_GE(forecast.peak, 0);
}

TEST(Forecast, IncreasesWithThePercentile) {
  api::UsageForecast settings;
  const auto series = series_of(4 * kDay, [](auto i) { return wave(i) + 8 * noise(i); });
  settings.percentile = 50;
  const double half = usage::forecast(series, settings).peak;
  settings.percentile = 90;
  const double most = usage::forecast(series, settings).peak;
  settings.percentile = 99;
  EXPECT_LT(half, most);
  EXPECT_LT(most, usage::forecast(series, settings).peak);
}

TEST(Forecast, SupportsEveryValidStepAndHorizon) {
  for (const base::Duration step : {base::minutes(1), base::minutes(7), base::minutes(60)}) {
    for (const base::Duration horizon : {base::minutes(1), base::minutes(90), base::minutes(24 * 60)}) {
      api::UsageForecast settings{horizon, 90, std::chrono::hours(24 * 35), step};
      Series series{"n1", "cpu", kMonday, step, std::vector<float>(3000, 40)};
      EXPECT_NEAR(usage::forecast(series, settings).peak, 40, 0.1);
    }
  }
}

Forecast judged(double error, double now, double yesterday = kUnknown) {
  Forecast forecast;
  forecast.error = error, forecast.naive_error = now, forecast.seasonal_error = yesterday;
  return forecast;
}

TEST(ForecastQuality, IsComparedWithEachNaiveForecast) {
  Forecast one = judged(1, 4, 2);
  one.trusted = true;
  const usage::ForecastQuality quality = usage::quality_of(std::vector{one, judged(1, 2), Forecast{}});
  EXPECT_EQ(quality.judged, 2U);
  EXPECT_EQ(quality.trusted, 1U);
  EXPECT_DOUBLE_EQ(quality.ratio_to_now, 2.0 / 6);
  EXPECT_DOUBLE_EQ(quality.to_yesterday, 0.5) << "of the series that had a yesterday";
}

TEST(ForecastQuality, HasNoRatioToAForecastWithoutErrors) {
  EXPECT_TRUE(std::isnan(usage::quality_of(std::vector{judged(0, 0)}).ratio_to_now));
  EXPECT_TRUE(std::isnan(usage::quality_of({}).to_yesterday));
}

TEST(ForecastQuality, WeighsColumnsEquallyRegardlessOfTheirUnit) {
  const auto cores = usage::quality_of(std::vector{judged(0.5, 1, 1)});
  const auto bytes = usage::quality_of(std::vector{judged(3e9, 2e9)});
  const usage::ForecastQuality both = usage::quality_of_columns(std::vector{cores, bytes, usage::ForecastQuality{}});
  EXPECT_EQ(both.judged, 2U);
  EXPECT_DOUBLE_EQ(both.ratio_to_now, 1.0) << "the mean of 0.5 and 1.5";
  EXPECT_DOUBLE_EQ(both.to_yesterday, 0.5);
}

}  // namespace usage_forecast_test
