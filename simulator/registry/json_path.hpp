#pragma once

#include <string_view>
#include <vector>

#include "api/json/json.hpp"

namespace simulator {

/// The JSONPath of printer columns: `.a.b`, `.a\.b`, `['a.b']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`. What does not
/// parse or is not there yields nothing.
std::vector<const api::Json*> evaluate_json_path(const api::Json& object, std::string_view path);

}  // namespace simulator
