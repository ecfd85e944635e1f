#include "base/time/steady_clock.hpp"

#include <time.h>

namespace base {

/// Uses CLOCK_BOOTTIME instead of std::chrono::steady_clock, which stops while the machine is suspended.
TimePoint SteadyClock::now() const {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return TimePoint(std::chrono::duration_cast<Duration>(seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)));
}

}  // namespace base
