#include "base/sleep.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace sleep_test {

TEST(SleepUnlessStopped, EndsByItself) {
  const std::stop_source source;
  EXPECT_TRUE(base::sleep_unless_stopped(base::milliseconds(1), source.get_token()));
  EXPECT_TRUE(base::sleep_unless_stopped(base::milliseconds(1), std::stop_token()));
}

TEST(SleepUnlessStopped, ReturnsImmediatelyIfStopped) {
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(base::sleep_unless_stopped(std::chrono::hours(1), source.get_token()));
}

TEST(SleepUnlessStopped, IsWoken) {
  bool slept = true;
  std::jthread sleeper([&](std::stop_token stop) { slept = base::sleep_unless_stopped(std::chrono::hours(1), stop); });
  sleeper.request_stop();
  sleeper.join();
  EXPECT_FALSE(slept);
}

}  // namespace sleep_test
