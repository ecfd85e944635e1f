#include "usage/history.hpp"

#include <gtest/gtest.h>

#include <malloc.h>

#include <cmath>

namespace usage_history_test {

using std::chrono::hours;
using usage::History;
using usage::Samples;
using usage::Series;

const base::TimePoint kMonday = base::parse_time("2026-06-01T00:00:00Z").value();
const std::vector<usage::Column> kCpu = {{"cpu", usage::Unit::kAmount}};

Samples answer(std::vector<Samples::Node> nodes) {
  Samples samples;
  samples.columns = kCpu;
  samples.nodes = std::move(nodes);
  return samples;
}

double middle_of(const History& history, const char* node, base::TimePoint now) {
  const auto forecasts = history.of(node, now);
  return forecasts.size() == 1 ? forecasts[0].middle : usage::kUnknown;
}

TEST(UsageHistory, AveragesTheSamplesOfAStep) {
  History history({});
  for (int i = 0; i < 40; ++i) {
    const base::TimePoint now = kMonday + base::seconds(30 * i);
    history.add(answer({{"n1", now, {i % 2 == 0 ? 2.0 : 6.0}}}), now);
  }
  EXPECT_NEAR(middle_of(history, "n1", kMonday + base::minutes(20)), 4, 0.01);
  EXPECT_TRUE(history.of("n2", kMonday).empty());
}

TEST(UsageHistory, HasNoForecastForASilentNode) {
  History history({});
  history.add(answer({{"n1", kMonday, {2}}}), kMonday);
  history.add(answer({{"n1", kMonday + base::minutes(5), {2}}}), kMonday + base::minutes(5));
  EXPECT_FALSE(history.of("n1", kMonday + base::minutes(20)).empty());
  EXPECT_TRUE(history.of("n1", kMonday + base::minutes(21)).empty());
}

TEST(UsageHistory, ForgetsANodeAfterADay) {
  History history({});
  history.add(answer({{"gone", kMonday, {2}}}), kMonday);
  for (int hour = 1; hour <= 25; ++hour) {
    const base::TimePoint now = kMonday + hours(hour);
    history.add(answer({{"n1", now, {2}}}), now);
  }
  EXPECT_EQ(history.node_count(), 1U);
}

TEST(UsageHistory, IgnoresClocksThatAreWrong) {
  History history({});
  for (int i = 0; i < 4; ++i) {
    const base::TimePoint now = kMonday + base::minutes(5 * i);
    history.add(answer({{"n1", now, {2}}}), now);
    history.add(answer({{"n1", now + hours(300000), {9000}}}), now);
    history.add(answer({{"n1", now - base::minutes(6), {9000}}}), now);
    history.add(answer({{"n2", now - hours(300000), {9000}}}), now);
  }
  EXPECT_NEAR(middle_of(history, "n1", kMonday + base::minutes(15)), 2, 0.01);
  EXPECT_EQ(history.node_count(), 1U);
}

TEST(UsageHistory, LeavesGapsForUnusableSamples) {
  History history({});
  for (int i = 0; i < 6; ++i) {
    const base::TimePoint now = kMonday + base::minutes(5 * i);
    history.add(answer({{"n1", now, {i % 2 == 0 ? 3.0 : i == 1 ? usage::kUnknown : -5.0}}}), now);
  }
  EXPECT_NEAR(middle_of(history, "n1", kMonday + base::minutes(25)), 3, 0.01);
}

TEST(UsageHistory, ContinuesFromThePastOfItsSource) {
  History history({});
  std::vector<float> values(2 * 288, 4);
  history.seed(kCpu, {{"n1", "cpu", kMonday, base::minutes(5), values},
                      {"n2", "memory", kMonday, base::minutes(5), values},
                      {"n3", "cpu", kMonday, base::minutes(1), values}});
  const base::TimePoint now = kMonday + hours(48);
  ASSERT_EQ(history.of("n1", now).size(), 1U);
  EXPECT_GE(history.of("n1", now)[0].judged, 24U);
  EXPECT_TRUE(history.of("n3", now).empty());
  history.add(answer({{"n1", now, {4}}}), now);
  EXPECT_GE(history.of("n1", now)[0].judged, 24U);
  EXPECT_GE(history.quality(now).judged, 1U);
}

TEST(UsageHistory, RestartsWithOtherColumns) {
  History history({});
  history.add(answer({{"n1", kMonday, {2}}}), kMonday);
  Samples other = answer({});
  other.columns = {{"memory", usage::Unit::kPercent}};
  history.add(other, kMonday);
  EXPECT_EQ(history.node_count(), 0U);
}

TEST(UsageHistory, UsesTwoKilobytesPerNodeAndColumn) {
  const auto before = mallinfo2().uordblks;
  History history({});
  std::vector<Series> past;
  for (int i = 0; i < 50; ++i)
    past.push_back({"node-" + std::to_string(i), "cpu", kMonday, base::minutes(5), std::vector<float>(576, 3)});
  history.seed(kCpu, past);
  past.clear();
  past.shrink_to_fit();
  EXPECT_LT(mallinfo2().uordblks - before, 50 * 2400U);
}

}  // namespace usage_history_test
