#pragma once

#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace soak {

/// Returns the YAML documents of a file of the repository. Throws if the file cannot be read.
std::vector<api::Json> documents_of(const std::string& file);

}  // namespace soak
