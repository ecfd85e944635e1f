#include "kube/rate_limiter.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kube {
namespace rate_limiter_test {

using base::milliseconds;
using base::seconds;

const base::TimePoint kStart = base::TimePoint{} + seconds(1'000'000);

TEST(TokenBucket, HoldsABurstAndRefillsAtItsRate) {
  TokenBucket bucket(10, 2);
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.until_next(kStart), milliseconds(100));
  EXPECT_FALSE(bucket.try_take(kStart + milliseconds(99)));
  EXPECT_TRUE(bucket.try_take(kStart + milliseconds(101)));
}

TEST(TokenBucket, SavesAtMostTheBurst) {
  TokenBucket bucket(10, 2);
  EXPECT_TRUE(bucket.try_take(kStart));
  const base::TimePoint later = kStart + seconds(3600);
  EXPECT_TRUE(bucket.try_take(later));
  EXPECT_TRUE(bucket.try_take(later));
  EXPECT_FALSE(bucket.try_take(later));
}

TEST(TokenBucket, SurvivesAClockSetBack) {
  TokenBucket bucket(10, 1);
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart - seconds(3600)));
  EXPECT_TRUE(bucket.try_take(kStart - seconds(3599))) << "a second later by the new time";
}

/// Threads that wait for a permit, each at a known position of the queue.
class RateLimiterTest : public ::testing::Test {
 protected:
  base::ManualClock clock{kStart};

  void start_waiting(RateLimiter& limiter, Flow flow) {
    const std::size_t before = limiter.stats().waiting;
    threads.emplace_back([this, &limiter, flow](std::stop_token stop) {
      auto permit = limiter.acquire(flow, stop);
      if (!permit) return;
      const std::scoped_lock lock(mutex);
      order.push_back(flow);
      held.push_back(std::make_unique<RateLimiter::Permit>(*std::move(permit)));
    });
    while (limiter.stats().waiting == before) std::this_thread::yield();
  }
  std::vector<Flow> await_order(std::size_t count) {
    for (;;) {
      const std::scoped_lock lock(mutex);
      if (order.size() >= count) return order;
      std::this_thread::yield();
    }
  }

  std::mutex mutex;
  std::vector<Flow> order;
  std::vector<std::unique_ptr<RateLimiter::Permit>> held;
  std::vector<std::jthread> threads;
};

TEST_F(RateLimiterTest, SharesTokensByWeight) {
  RateLimiter limiter(clock, {.qps = 1, .burst = 1, .max_in_flight = 1000});
  const auto first = limiter.acquire(Flow::kWrite);  // Uses up the burst
  for (int i = 0; i < 15; ++i) {
    for (const Flow flow : {Flow::kList, Flow::kRead, Flow::kWrite, Flow::kEviction}) start_waiting(limiter, flow);
  }
  for (std::size_t turn = 1; turn <= 15; ++turn) {  // One token at a time
    clock.advance(seconds(1));
    await_order(turn);
  }
  std::map<Flow, int> served;
  for (const Flow flow : await_order(15)) ++served[flow];
  EXPECT_NEAR(served[Flow::kEviction], 8, 1);
  EXPECT_NEAR(served[Flow::kWrite], 4, 1);
  EXPECT_NEAR(served[Flow::kRead], 2, 1);
  EXPECT_EQ(served[Flow::kList], 1) << "lists come last but do not starve";
  limiter.shut_down();
  threads.clear();
  held.clear();
}

TEST_F(RateLimiterTest, LeasesPassImmediately) {
  RateLimiter limiter(clock, {.qps = 0.1, .burst = 1, .max_in_flight = 4});
  const auto first = limiter.acquire(Flow::kWrite);
  start_waiting(limiter, Flow::kEviction);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(limiter.acquire(Flow::kLease));
  EXPECT_EQ(limiter.stats().waiting, 1u);
  limiter.shut_down();
  threads.clear();
}

TEST_F(RateLimiterTest, SlowListsLeaveSlotsForEvictions) {
  RateLimiter limiter(clock, {.qps = 1000, .burst = 1000, .max_in_flight = 8});
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&](std::stop_token stop) {
      auto permit = limiter.acquire(Flow::kList, stop);
      if (!permit) return;
      const std::scoped_lock lock(mutex);
      held.push_back(std::make_unique<RateLimiter::Permit>(*std::move(permit)));
    });
  while (limiter.stats().in_flight < 2 || limiter.stats().waiting < 1) std::this_thread::yield();
  {
    std::vector<RateLimiter::Permit> evictions;
    for (int i = 0; i < 6; ++i) {
      auto permit = limiter.acquire(Flow::kEviction);
      ASSERT_TRUE(permit);
      evictions.push_back(*std::move(permit));
    }
    EXPECT_EQ(limiter.stats().in_flight, 8u);
  }
  limiter.shut_down();
  threads.clear();
  held.clear();
}

TEST_F(RateLimiterTest, LimitsRequestsInFlight) {
  RateLimiter limiter(clock, {.qps = 1000, .burst = 1000, .max_in_flight = 4});
  for (int i = 0; i < 6; ++i) {
    std::optional<base::Result<RateLimiter::Permit>> last;
    last.emplace(limiter.acquire(Flow::kEviction));
    ASSERT_TRUE(*last) << "slots come back";
  }
  std::vector<RateLimiter::Permit> all;
  for (int i = 0; i < 4; ++i) all.push_back(*limiter.acquire(Flow::kEviction));
  start_waiting(limiter, Flow::kEviction);
  EXPECT_EQ(limiter.stats().in_flight, 4u);
  all.pop_back();
  await_order(1);
  limiter.shut_down();
  threads.clear();
  held.clear();
}

TEST_F(RateLimiterTest, StopEndsTheWait) {
  RateLimiter limiter(clock, {.qps = 0.1, .burst = 1, .max_in_flight = 4});
  const auto first = limiter.acquire(Flow::kWrite);
  start_waiting(limiter, Flow::kRead);
  start_waiting(limiter, Flow::kWrite);
  threads.clear();  // Requests stop and joins
  EXPECT_EQ(limiter.stats().waiting, 0u);
  EXPECT_TRUE(order.empty());
}

TEST_F(RateLimiterTest, ShutDownEndsEveryWait) {
  RateLimiter limiter(clock, {.qps = 0.1, .burst = 1, .max_in_flight = 4});
  const auto first = limiter.acquire(Flow::kWrite);
  base::Result<RateLimiter::Permit> got = base::invalid("none yet");
  std::thread waiter([&] { EXPECT_EQ(limiter.acquire(Flow::kRead).error().code, base::ErrorCode::kCancelled); });
  while (limiter.stats().waiting == 0) std::this_thread::yield();
  limiter.shut_down();
  waiter.join();
  EXPECT_EQ(limiter.acquire(Flow::kLease).error().code, base::ErrorCode::kCancelled);
}

TEST_F(RateLimiterTest, RaisesInvalidOptions) {
  RateLimiter limiter(clock, {.qps = -5, .burst = 0, .max_in_flight = -1});
  EXPECT_TRUE(limiter.acquire(Flow::kList));
}

TEST(RateLimiterRealTime, KeepsItsRateUnderManyThreads) {
  const base::SystemClock clock;
  RateLimiter limiter(clock, {.qps = 200, .burst = 1, .max_in_flight = 8});
  const base::TimePoint start = clock.now();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 2; ++j) EXPECT_TRUE(limiter.acquire(Flow::kWrite));
    });
  }
  threads.clear();
  EXPECT_GE(clock.now() - start, milliseconds(190)) << "40 requests at 200/s with a burst of 1";
  EXPECT_EQ(limiter.stats().granted, 40u);
  EXPECT_EQ(limiter.stats().in_flight, 0u);
}

}  // namespace rate_limiter_test
}  // namespace kube
