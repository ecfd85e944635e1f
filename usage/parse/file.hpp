#pragma once

/// Reads usage from a file, for simulations (docs/usage/file.md). Pure; tolerates any input.

#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "usage/samples.hpp"

namespace usage {

/// Reads JSON if the text begins with a brace, else CSV. Every sample has the time `time`. Errors name line and column
/// (bytes, from 1): a duplicate name, an invalid amount, a column that mixes percentages and amounts.
base::Result<Samples> read_usage_file(std::string_view text, base::TimePoint time);

}  // namespace usage
