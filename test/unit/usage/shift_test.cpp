/// Correction of forecasts for our own moves.

#include <gtest/gtest.h>

#include "usage/history.hpp"

namespace usage_shift_test {

const base::TimePoint kMonday = base::parse_time("2026-06-01T00:00:00Z").value();

TEST(ForecastShift, ContinuesFromTheNewLevelImmediately) {
  usage::Forecaster forecaster(std::make_shared<const usage::ForecastRates>(api::UsageForecast{}), kMonday);
  for (int i = 0; i < 3 * 288; ++i) forecaster.add(40 + i % 2);
  const usage::Forecast before = forecaster.forecast();
  forecaster.shift(-15);
  EXPECT_NEAR(forecaster.forecast().middle, before.middle - 15, 0.1);
  for (int i = 0; i < 12; ++i) forecaster.add(25 + i % 2);
  EXPECT_NEAR(forecaster.forecast().middle, before.middle - 15, 1);
  EXPECT_NEAR(forecaster.forecast().error, before.error, 0.2) << "the move was no error of the forecast";
}

TEST(ForecastShift, AppliesToYesterdayToo) {
  api::UsageForecast far;
  far.horizon = std::chrono::hours(8);
  const auto jump = [](int hour) { return hour < 12 ? 20.0 : 60.0; };  // No seasonal wave can follow that jump better
  usage::Forecaster forecaster(std::make_shared<const usage::ForecastRates>(far), kMonday);
  for (int i = 0; i < 5 * 288; ++i) forecaster.add(jump(i / 12 % 24));
  ASSERT_EQ(forecaster.forecast().rule, usage::ForecastRule::kYesterday);
  const usage::Forecast before = forecaster.forecast();
  forecaster.shift(-15);
  EXPECT_NEAR(forecaster.forecast().middle, before.middle - 15, 0.01);
}

TEST(ForecastShift, AppliesToOneNodeAndColumn) {
  usage::History history({});
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}, {"memory", usage::Unit::kAmount}};
  for (int i = 0; i < 3; ++i) {
    const base::TimePoint now = kMonday + base::minutes(5 * i);
    samples.nodes = {{"n1", now, {4, 7}}, {"n2", now, {4, 7}}};
    history.add(samples, now);
  }
  const base::TimePoint now = kMonday + base::minutes(10);
  history.shift("n1", 0, 2);
  history.shift("n3", 0, 2);
  history.shift("n1", 2, 2);
  EXPECT_NEAR(history.of("n1", now)[0].middle, 6, 0.01);
  EXPECT_NEAR(history.of("n1", now)[1].middle, 7, 0.01);
  EXPECT_NEAR(history.of("n2", now)[0].middle, 4, 0.01);
}

TEST(ForecastShift, DoesNotChangeSamplesThatAlreadyReflectIt) {
  usage::History history({});
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  const auto answer = [&](base::Duration at, double cores) {
    samples.nodes = {{"n1", kMonday + at, {cores}}};
    history.add(samples, kMonday + at);
  };
  for (int i = 0; i < 20; ++i) answer(base::minutes(i), 4);  // Five-minute steps, all closed except the last
  answer(base::minutes(20), 4);
  answer(base::minutes(21), 4);
  answer(base::minutes(22), 3);  // The metrics of the moved pod end here
  answer(base::minutes(23), 3);
  history.shift("n1", 0, -1, 2);
  answer(base::minutes(24), 3);
  answer(base::minutes(25), 3);
  EXPECT_NEAR(history.of("n1", kMonday + base::minutes(25))[0].middle, 3, 0.001);
}

}  // namespace usage_shift_test
