#pragma once

#include <string>

#include "cmd/convert/policy.hpp"

namespace cmd {

/// Returns the strategies of this build, for api::convert_upstream.
api::StrategyCatalogue strategy_catalogue();

/// Returns the policies as YAML documents, each with comments on its source and on what was not converted, or as one
/// JSON object (a List if there are several). REQUIRES: no errors.
std::string render_conversion(const api::Conversion& conversion, const std::string& file, const std::string& output);

}  // namespace cmd
