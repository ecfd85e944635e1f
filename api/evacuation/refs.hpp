#pragma once

/// Keys of status.refs that the controller itself writes and more than one part reads. Evictors have keys of their own.

#include <string_view>

namespace api {

/// Node that the owner of the pod, not our reservation, has chosen for it.
inline constexpr std::string_view kChosenTargetRef = "chosenTarget";

}  // namespace api
