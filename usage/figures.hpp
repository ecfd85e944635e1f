#pragma once

/// From samples to figures: what a source's samples of some time add up to. Pure; no clock.

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/samples.hpp"

namespace usage {

/// One figure of the values in a window, oldest first; kUnknown values are skipped; kUnknown if none is left.
/// kEwma begins with the oldest one. kPercentile is the nearest rank. kMeanPlusSigma uses the population's deviation.
double smooth(const std::vector<double>& values, const api::UsageSmoothing& settings);

}  // namespace usage
