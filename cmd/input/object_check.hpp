#pragma once

#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace cmd {

/// What the API server refuses of an object of ours or drops in silence, spec and status apart: "mode: unknown field",
/// one text each. Members beside spec, members of metadata, the name, labels and annotations are looked at.
std::vector<std::string> problems_around_spec(const api::Json& object);

}  // namespace cmd
