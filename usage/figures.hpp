#pragma once

/// Aggregation of a source's samples over a window. Pure; no clock.

#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/samples.hpp"

namespace usage {

/// Aggregates the values of a window, oldest first, into one figure. Skips kUnknown values, and returns kUnknown if
/// there are no others. kEwma starts with the oldest value. kPercentile uses the nearest rank. kMeanPlusSigma uses the
/// population standard deviation.
double smooth(const std::vector<double>& values, const api::UsageSmoothing& settings);

}  // namespace usage
