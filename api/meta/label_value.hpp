#pragma once

#include <string>
#include <string_view>

namespace api {

inline constexpr std::size_t kMaxLabelValue = 63;

/// Returns a label value for an object's name: the name itself, or if it is too long its beginning, '-' and ten hash
/// digits that keep it unique. `name` must be a DNS subdomain.
std::string label_value(std::string_view name);

/// Returns the value of soft taints of this policy (well_known::kSoftTaints).
inline std::string soft_taint_value(std::string_view policy) { return label_value(policy); }

}  // namespace api
