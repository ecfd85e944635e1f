#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace base {

/// Exponential back-off: the pause after the first failure, and the longest pause.
struct Backoff {
  Duration first;
  Duration most;
};

/// first × 2^(failures − 1), never above `most`. Less than one failure counts as one.
Duration backoff_delay(const Backoff& backoff, std::int64_t failures);

/// Jitter that shortens: between half of the delay (`random` 0) and all of it (`random` 1).
Duration shortened_by_up_to_half(Duration delay, double random);

/// Jitter that prolongs: up to 20 % more. Equal seeds give equal delays.
Duration prolonged_by_up_to_a_fifth(Duration delay, std::uint64_t seed);

}  // namespace base
