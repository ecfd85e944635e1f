#pragma once

/// Usage from a file, for simulations (docs/usage/file.md). Pure; survives any input.

#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "usage/samples.hpp"

namespace usage {

/// Reads JSON when the text begins with a brace, else CSV. Every sample is from `time`. Errors name line and column
/// (bytes, from 1): a name that is there twice, an amount that is none, a column with percentages and amounts.
base::Result<Samples> read_usage_file(std::string_view text, base::TimePoint time);

}  // namespace usage
