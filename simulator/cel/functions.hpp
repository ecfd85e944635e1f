#pragma once

#include <string_view>
#include <vector>

#include "simulator/cel/evaluate.hpp"

namespace simulator::cel {

/// Evaluates `left op right` for every operator except && and ||.
base::Result<Value> apply_operator(std::string_view op, const Value& left, const Value& right);
/// Evaluates size(x), duration(text) or string(x).
base::Result<Value> call_function(std::string_view name, const std::vector<Value>& arguments);
/// Evaluates arguments[0].name(arguments[1]…).
base::Result<Value> call_method(std::string_view name, const std::vector<Value>& arguments);

}  // namespace simulator::cel
