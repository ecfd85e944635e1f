#include "base/backoff.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace backoff_test {

using base::Backoff;
using base::Duration;
using base::seconds;

struct Case {
  const char* name;
  Backoff backoff;
  std::int64_t failures;
  Duration want;
};

class BackoffDelay : public testing::TestWithParam<Case> {};

TEST_P(BackoffDelay, DoublesUpToTheMaximum) {
  EXPECT_EQ(base::backoff_delay(GetParam().backoff, GetParam().failures), GetParam().want);
}

constexpr Backoff kUsual{seconds(5), seconds(60)};
constexpr Backoff kNoLimit{seconds(1), Duration::max()};

INSTANTIATE_TEST_SUITE_P(
    Backoff, BackoffDelay,
    testing::Values(Case{"First", kUsual, 1, seconds(5)}, Case{"NoFailure", kUsual, 0, seconds(5)},
                    Case{"Negative", kUsual, -3, seconds(5)}, Case{"Second", kUsual, 2, seconds(10)},
                    Case{"Fourth", kUsual, 4, seconds(40)}, Case{"Longest", kUsual, 5, seconds(60)},
                    Case{"Endless", kUsual, std::numeric_limits<std::int64_t>::max(), seconds(60)},
                    Case{"FirstBeyondLongest", {seconds(90), seconds(60)}, 1, seconds(60)},
                    Case{"NoPause", {seconds(0), seconds(60)}, std::numeric_limits<std::int64_t>::max(), seconds(0)},
                    Case{"NoOverflow", kNoLimit, 1000, Duration::max()}),
    [](const auto& test) { return test.param.name; });

TEST(Jitter, ShortensByUpToHalf) {
  EXPECT_EQ(base::jitter_down_by_half(seconds(10), 0), seconds(5));
  EXPECT_EQ(base::jitter_down_by_half(seconds(10), 0.5), Duration(7'500'000));
  EXPECT_EQ(base::jitter_down_by_half(seconds(10), 1), seconds(10));
}

TEST(Jitter, ExtendsByUpToAFifth) {
  EXPECT_EQ(base::jitter_up_by_fifth(seconds(10), 0), seconds(10));
  EXPECT_EQ(base::jitter_up_by_fifth(seconds(10), 7), base::jitter_up_by_fifth(seconds(10), 7));
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_GE(base::jitter_up_by_fifth(seconds(10), seed), seconds(10));
    EXPECT_LT(base::jitter_up_by_fifth(seconds(10), seed), seconds(12));
  }
}

}  // namespace backoff_test
