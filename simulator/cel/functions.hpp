#pragma once

#include <string_view>
#include <vector>

#include "simulator/cel/evaluate.hpp"

namespace simulator::cel {

/// `left op right` for everything but && and ||.
base::Result<Value> apply_operator(std::string_view op, const Value& left, const Value& right);
/// size(x), duration(text), string(x).
base::Result<Value> call_function(std::string_view name, const std::vector<Value>& arguments);
/// arguments[0].name(arguments[1]…)
base::Result<Value> call_method(std::string_view name, const std::vector<Value>& arguments);

}  // namespace simulator::cel
