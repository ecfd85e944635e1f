#pragma once

#include <string>
#include <string_view>

namespace api {

/// Longest value of a label.
inline constexpr std::size_t kMaxLabelValue = 63;

/// The value of a label that stands for an object's name: the name itself; of one that is too long its beginning, '-'
/// and ten digits that tell it from others that begin alike. REQUIRES: `name` is a DNS subdomain.
std::string label_value(std::string_view name);

/// The value of the soft taints that belong to a policy of that name (well_known::kSoftTaints).
inline std::string soft_taint_value(std::string_view policy) { return label_value(policy); }

}  // namespace api
