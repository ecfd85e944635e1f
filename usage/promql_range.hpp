#pragma once

#include <string_view>

#include "base/clock.hpp"

namespace usage {

/// No more of a range counts.
inline constexpr base::Duration kMaxRange = std::chrono::hours(1);

/// The longest range that a PromQL expression takes a mean over: of rate(), increase() and avg_over_time(), for example
/// 5 minutes of "rate(a[5m])". kMaxRange at most; 0 without any. Brackets in quoted text are none. For any text;
/// what is no duration counts for nothing.
base::Duration longest_mean(std::string_view promql);

}  // namespace usage
