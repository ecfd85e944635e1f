#pragma once

/// Times that were stored by a clock which was ahead of the present one.

#include <algorithm>

#include "base/clock.hpp"

namespace base {

/// Clocks of replicas may differ by this much.
inline constexpr minutes kClockTolerance{1};

constexpr bool is_beyond(TimePoint stored, TimePoint now) { return stored > now + kClockTolerance; }

/// `stored` is the time at which something happened: by `now` at the latest.
constexpr TimePoint believed(TimePoint stored, TimePoint now) { return is_beyond(stored, now) ? now : stored; }

}  // namespace base
