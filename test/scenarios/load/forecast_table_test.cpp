/// The forecast's error table. Each value was predicted from past samples only. A forecast counts as used if its
/// back-test trusted it at that time.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "test/scenarios/load/series.hpp"
#include "usage/forecast.hpp"

namespace forecast_table_test {

struct Errors {
  double forecast = 0, as_now = 0, as_yesterday = 0;
  double used = 0;  ///< error of the forecast where it was trusted, otherwise of "as now"
  double trusted_forecast = 0, trusted_naive = 0, trusted_yesterday = 0;
  int count = 0, trusted = 0, covered = 0;

  Errors& operator+=(const Errors& other) {
    forecast += other.forecast, as_now += other.as_now, as_yesterday += other.as_yesterday, used += other.used;
    trusted_forecast += other.trusted_forecast, trusted_naive += other.trusted_naive;
    trusted_yesterday += other.trusted_yesterday;
    count += other.count, trusted += other.trusted, covered += other.covered;
    return *this;
  }
};

/// Evaluates every 15 minutes, from the third day on.
Errors errors_of(const usage::Series& series, const api::UsageForecast& settings) {
  constexpr std::size_t kDay = 288;
  const auto horizon = static_cast<std::size_t>(settings.horizon / settings.step);
  usage::Forecaster forecaster(std::make_shared<const usage::ForecastRates>(settings), series.start);
  Errors errors;
  for (std::size_t t = 0; t + horizon < series.values.size(); ++t) {
    forecaster.add(series.values[t]);
    if (t < 2 * kDay || t % 3 != 0) continue;
    const auto highest = [&](std::size_t from) {
      const auto first = series.values.begin() + static_cast<std::ptrdiff_t>(from);
      return *std::max_element(first, first + static_cast<std::ptrdiff_t>(horizon));
    };
    const double actual = highest(t + 1);
    const usage::Forecast forecast = forecaster.forecast();
    const double error = std::abs(forecast.middle - actual);
    const double as_now = std::abs(series.values[t] - actual);
    const double as_yesterday = std::abs(highest(t + 1 - kDay) - actual);
    errors += {error,
               as_now,
               as_yesterday,
               forecast.trusted ? error : as_now,
               forecast.trusted ? error : 0,
               forecast.trusted ? as_now : 0,
               forecast.trusted ? as_yesterday : 0,
               1,
               forecast.trusted ? 1 : 0,
               actual <= forecast.peak ? 1 : 0};
  }
  return errors;
}

struct World {
  const char* name;
  std::function<std::vector<usage::Series>()> make;
};

api::UsageForecast ahead(base::Duration horizon) {
  api::UsageForecast settings;
  settings.horizon = horizon;
  return settings;
}

/// Maximum error in points per evaluation: yesterday's values are known in strides of up to half an hour.
constexpr double kStrideError = 0.5;

double ratio(double error, double other) { return other > 0 ? error / other : error > 0 ? HUGE_VAL : 1; }

class ForecastTable : public testing::TestWithParam<World> {};

TEST_P(ForecastTable, IsNeverUsedWhereItIsWorse) {
  const auto all = GetParam().make();
  for (const base::Duration horizon :
       {base::Duration(base::minutes(30)), base::Duration(base::minutes(60)), base::Duration(std::chrono::hours(4))}) {
    Errors sum;
    double worst = 0;
    for (const usage::Series& series : all) {
      const Errors each = errors_of(series, ahead(horizon));
      sum += each;
      if (each.trusted >= 96) {
        worst = std::max(worst, each.trusted_forecast / each.trusted_naive);
      }
    }
    fmt::print(
        "{:12} {:>4} min: to as-now {:.2f}, to as-yesterday {:.2f}; trusted {:3.0f} %, used to as-now {:.2f}; "
        "covered {:.1f} %; worst series {:.2f}\n",
        GetParam().name, std::chrono::floor<std::chrono::minutes>(horizon).count(), ratio(sum.forecast, sum.as_now),
        ratio(sum.forecast, sum.as_yesterday), 100.0 * sum.trusted / sum.count, sum.used / sum.as_now,
        100.0 * sum.covered / sum.count, worst);
    EXPECT_LE(sum.used, sum.as_now);
    EXPECT_LE(sum.trusted_forecast, sum.trusted_naive);
    EXPECT_LE(sum.used, sum.as_yesterday + kStrideError * sum.count);
    EXPECT_LE(sum.trusted_forecast, sum.trusted_yesterday + kStrideError * sum.trusted);
    EXPECT_LE(worst, 1.25) << "of one series: chance alone";
  }
}
INSTANTIATE_TEST_SUITE_P(Load, ForecastTable,
                         testing::Values(World{"DailyWave", [] { return load::node_series(40, 5, 11); }},
                                         World{"ThreeWeeks", [] { return load::node_series(10, 21, 12); }},
                                         World{"Steps", [] { return load::steps(40, 7, 13); }},
                                         World{"RandomWalk", [] { return load::random_walks(40, 7, 14); }},
                                         World{"Repeats", [] { return load::repeating(40, 7, 16); }},
                                         World{"PureNoise", [] { return load::pure_noise(40, 7, 15); }}),
                         [](const auto& test) { return test.param.name; });

}  // namespace forecast_table_test
