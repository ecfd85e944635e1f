#include "base/backoff.hpp"

#include <algorithm>

namespace base {

Duration backoff_delay(const Backoff& backoff, std::int64_t failures) {
  Duration delay = std::min(backoff.first, backoff.most);
  for (std::int64_t i = 1; i < failures && delay > Duration::zero() && delay < backoff.most; ++i) {
    delay = delay > backoff.most / 2 ? backoff.most : delay * 2;
  }
  return delay;
}

Duration jitter_down_by_half(Duration delay, double random) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(delay.count()) * (0.5 + random / 2)));
}

Duration jitter_up_by_fifth(Duration delay, std::uint64_t seed) {
  const std::uint64_t mixed = (seed ^ (seed >> 31)) * 0x9E3779B97F4A7C15ULL;
  return delay + delay * static_cast<std::int64_t>(mixed >> 54) / (5 * 1024);
}

}  // namespace base
