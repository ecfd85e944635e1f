#include "base/time/steady_clock.hpp"

#include <gtest/gtest.h>

namespace base {
namespace steady_clock_test {

TEST(SteadyClock, NeverGoesBackAndIsNotTheTimeOfDay) {
  const SteadyClock steady;
  const TimePoint first = steady.now();
  TimePoint last = first;
  while (last == first) {
    const TimePoint next = steady.now();
    ASSERT_GE(next, last);
    last = next;
  }
  EXPECT_LT(last, SystemClock().now()) << "it counts from the machine's start";
}

}  // namespace steady_clock_test
}  // namespace base
