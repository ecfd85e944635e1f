#include "base/time/steady_clock.hpp"

#include <time.h>

namespace base {

/// CLOCK_BOOTTIME and not steady_clock: that one stands still while the machine is suspended.
TimePoint SteadyClock::now() const {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return TimePoint(std::chrono::duration_cast<Duration>(seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)));
}

}  // namespace base
