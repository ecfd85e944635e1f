#pragma once

#include <string_view>

#include "base/clock.hpp"

namespace usage {

/// No more of a range counts.
inline constexpr base::Duration kLongestRange = std::chrono::hours(1);

/// The longest range of a range selector or subquery in a PromQL expression ("[5m]", "[1h30m:1m]"), kLongestRange at
/// most; 0 without any. Brackets in quoted text are none. For any text; what is no duration counts for nothing.
base::Duration longest_range(std::string_view promql);

}  // namespace usage
