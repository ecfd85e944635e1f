#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace base {

/// Exponential backoff: delay after the first failure, and maximum delay.
struct Backoff {
  Duration first;
  Duration most;
};

/// Returns first × 2^(failures − 1), capped at `most`. A count below 1 is treated as 1.
Duration backoff_delay(const Backoff& backoff, std::int64_t failures);

/// Jitter that shortens: returns a delay between half of `delay` (`random` 0) and `delay` (`random` 1).
Duration jitter_down_by_half(Duration delay, double random);

/// Jitter that prolongs: adds up to 20 % to `delay`. Equal seeds give equal delays.
Duration jitter_up_by_fifth(Duration delay, std::uint64_t seed);

}  // namespace base
