#pragma once

#include <string_view>
#include <vector>

#include "api/json/json.hpp"

namespace simulator {

/// Evaluates a JSONPath of printer columns: `.a.b`, `.a\.b`, `['a.b']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`. Returns
/// an empty list if it is invalid or matches nothing.
std::vector<const api::Json*> evaluate_json_path(const api::Json& object, std::string_view path);

}  // namespace simulator
