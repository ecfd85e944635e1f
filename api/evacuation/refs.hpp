#pragma once

/// Keys of status.refs that the controller writes and several components read. Evictors have their own keys.

#include <string_view>

namespace api {

/// Node chosen by the owner of the pod, instead of the node with reserved capacity.
inline constexpr std::string_view kChosenTargetRef = "chosenTarget";

}  // namespace api
