#pragma once

/// Corrects stored times that lie in the future because they were written by a replica whose clock was ahead.

#include <algorithm>

#include "base/clock.hpp"

namespace base {

/// Maximum tolerated clock skew between replicas.
inline constexpr minutes kClockTolerance{1};

constexpr bool is_in_future(TimePoint stored, TimePoint now) { return stored > now + kClockTolerance; }

/// Returns `stored`, the time of a past event, or `now` if it is in the future beyond the tolerance.
constexpr TimePoint clamp_to_now(TimePoint stored, TimePoint now) { return is_in_future(stored, now) ? now : stored; }

}  // namespace base
