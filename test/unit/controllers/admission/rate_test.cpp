#include "controllers/admission/rate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace admission_rate_test {

using base::minutes;
using base::seconds;
using controllers::AdmissionRate;

const base::TimePoint kNoon{std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + std::chrono::hours(12)};

int take_all(AdmissionRate& rate, base::TimePoint now) {
  int taken = 0;
  for (; rate.has_token(now); ++taken) rate.take(now);
  return taken;
}

TEST(AdmissionRate, StartsFullAndFillsUpToItsBurst) {
  AdmissionRate rate({{}, 60, 5});
  EXPECT_EQ(take_all(rate, kNoon), 5);
  EXPECT_EQ(rate.next_token(kNoon), kNoon + seconds(1));
  EXPECT_EQ(take_all(rate, kNoon + seconds(3)), 3);
  EXPECT_EQ(take_all(rate, kNoon + minutes(60)), 5);
}

TEST(AdmissionRate, RoundsTheIntervalUp) {
  EXPECT_EQ((api::RateLimit{3, {}, 1}.interval()), base::Duration(333'334));
  EXPECT_EQ((api::RateLimit{{}, 1, 1}.interval()), base::Duration(minutes(1)));
}

TEST(AdmissionRate, DrainsAndAcceptsReturnedTokens) {
  AdmissionRate rate({1, {}, 2});
  rate.drain(kNoon);
  EXPECT_FALSE(rate.has_token(kNoon));
  EXPECT_EQ(rate.next_token(kNoon), kNoon + seconds(1));
  rate.take(kNoon + seconds(1));
  EXPECT_FALSE(rate.has_token(kNoon + seconds(1)));
  rate.give_back();
  EXPECT_TRUE(rate.has_token(kNoon + seconds(1)));
}

TEST(AdmissionRate, KeepsUsedTokensWhenTheLimitChanges) {
  AdmissionRate rate({1, {}, 4});
  rate.take(kNoon);
  rate.take(kNoon);
  rate.change({{}, 1, 3}, kNoon);
  EXPECT_EQ(take_all(rate, kNoon), 1);
  rate.change({10, {}, 1}, kNoon);
  EXPECT_EQ(take_all(rate, kNoon), 0);
  EXPECT_EQ(take_all(rate, kNoon + seconds(1)), 1);
}

TEST(AdmissionRate, IsEmptyButNotForHoursWhenTheClockIsSetBack) {
  AdmissionRate rate({1, {}, 3});
  EXPECT_EQ(take_all(rate, kNoon), 3);
  const base::TimePoint earlier = kNoon - std::chrono::hours(10);
  EXPECT_EQ(rate.next_token(earlier), earlier + seconds(1));
}

TEST(AdmissionRate, NeverGivesMoreThanBurstAndRate) {
  std::mt19937 random(3);
  AdmissionRate rate({2, {}, 5});
  base::TimePoint now = kNoon;
  std::deque<base::TimePoint> taken;
  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::milliseconds(random() % 300);
    if (random() % 100 == 0) rate.drain(now);
    if (!rate.has_token(now)) continue;
    rate.take(now);
    taken.push_back(now);
    if (taken.size() > 50) taken.pop_front();
    for (const base::TimePoint since : {taken.front(), taken[taken.size() / 2]}) {
      const auto count = std::ranges::count_if(taken, [&](base::TimePoint each) { return each >= since; });
      ASSERT_LE(count, 5 + (now - since) / std::chrono::milliseconds(500));
    }
  }
}

}  // namespace admission_rate_test
