#pragma once

#include <string_view>

#include "base/clock.hpp"

namespace usage {

/// Maximum range that is considered.
inline constexpr base::Duration kMaxRange = std::chrono::hours(1);

/// Returns the longest range over which a PromQL expression takes a mean by rate(), increase() or avg_over_time(), for
/// example 5 minutes for "rate(a[5m])". At most kMaxRange, 0 if none exists. Ignores brackets in quoted text and
/// invalid durations. Accepts any text.
base::Duration longest_mean(std::string_view promql);

}  // namespace usage
