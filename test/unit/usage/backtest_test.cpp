#include "usage/backtest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace usage_backtest_test {

using usage::BackTest;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
const BackTest::Settings kSettings{.horizon = 3, .fading = 100, .overlap = 1, .share = 0.9, .width = 1.6};

/// Forecasts in which the first rule returns `rule` and the first naive rule returns `naive`. Other rules have no
/// forecast.
BackTest::Forecasts saying(float rule, float naive) {
  return {{rule, kNone, kNone, kNone, kNone, kNone}, {naive, kNone}};
}

TEST(BackTest, ComparesWithTheMaximumUntilTheHorizon) {
  BackTest test(kSettings);
  test.open(saying(7, 4));
  test.add(5);
  test.add(9);
  EXPECT_TRUE(std::isnan(test.judged()));
  test.add(6);
  EXPECT_EQ(test.judged(), 9);
  EXPECT_EQ(test.rule(0).count, 1U);
  EXPECT_EQ(test.rule(0).error, 2);
  EXPECT_EQ(test.naive(0).error, 5);
  EXPECT_EQ(test.rule(1).count, 0U);
  test.add(100);
  EXPECT_TRUE(std::isnan(test.judged()));
}

TEST(BackTest, CorrectsTheBiasOfARule) {
  const BackTest::Settings settings{.horizon = 1, .fading = 100, .overlap = 1, .share = 0.9, .width = 1.6};
  BackTest test(settings);
  for (int i = 0; i < 20; ++i) {
    test.open(saying(7, 7));
    test.add(10);
  }
  EXPECT_FLOAT_EQ(test.rule(0).bias, 3);
  EXPECT_FLOAT_EQ(test.rule(0).error, 3.0F / 20) << "only the first one was not corrected";
  EXPECT_FLOAT_EQ(test.naive(0).error, 3) << "never corrected";
  EXPECT_TRUE(test.is_better(0, 0));
}

TEST(BackTest, IgnoresWindowsThatAreMostlyGaps) {
  BackTest test(kSettings);
  test.open(saying(7, 4));
  test.add(5);
  test.add(kNone);
  test.add(kNone);
  EXPECT_EQ(test.rule(0).count, 0U);
  test.open(saying(7, 4));
  test.add(5);
  test.add(kNone);
  test.add(6);
  EXPECT_EQ(test.judged(), 6);
}

TEST(BackTest, IgnoresAnInsignificantGain) {
  const BackTest::Settings settings{.horizon = 1, .fading = 100, .overlap = 8, .share = 0.9, .width = 1.6};
  BackTest test(settings);
  for (int i = 0; i < 30; ++i) {
    test.open(saying(5, 5.2F));
    test.add(i % 2 == 0 ? 0 : 10.3);
  }
  EXPECT_FALSE(test.is_better(0, 0));
}

TEST(BackTest, ForgetsOnReset) {
  const BackTest::Settings settings{.horizon = 1, .fading = 100, .overlap = 1, .share = 0.9, .width = 1.6};
  BackTest test(settings);
  test.open(saying(5, 6));
  test.add(7);
  test.reset();
  EXPECT_EQ(test.rule(0).count, 0U);
  EXPECT_EQ(test.naive(0).count, 0U);
  EXPECT_TRUE(test.is_better(0, 0)) << "there is nothing to be better than";
}

}  // namespace usage_backtest_test
