#pragma once

#include "cmd/convert/policy.hpp"

namespace cmd {

/// Returns the strategies of this build, for convert::convert_upstream.
convert::StrategyCatalogue strategy_catalogue();

}  // namespace cmd
