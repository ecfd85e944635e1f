#pragma once

#include <string>
#include <string_view>

namespace api {

/// Longest value of a label.
inline constexpr std::size_t kMaxLabelValue = 63;

/// The value of a label that stands for an object's name: the name itself; of one that is too long its beginning, '-'
/// and ten digits that tell it from others that begin alike. REQUIRES: `name` is a DNS subdomain.
std::string label_value(std::string_view name);

}  // namespace api
