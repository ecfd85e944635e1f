#pragma once

#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace cmd {

/// Returns problems outside of spec and status for which the API server rejects one of our objects or silently drops
/// fields, such as "mode: unknown field". Checks the top-level members, the members of metadata, the name, labels and
/// annotations.
std::vector<std::string> problems_around_spec(const api::Json& object);

}  // namespace cmd
