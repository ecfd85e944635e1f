#pragma once

/// Removes a placement hint from a pod (docs/concepts/placement.md). Pure.

#include "api/core/kinds.hpp"

namespace api {

/// Weight of the preferred node term of a hint: the maximum.
inline constexpr int kPlacementHintWeight = 100;

/// Removes the hint named by annotation evacuator.dev/placement from the affinity of a scheduled pod, because neither
/// its owner's template nor the next pod has it. An unscheduled pod keeps the hint, because it decides where the pod
/// goes. A hint that the affinity does not contain is ignored; a forged annotation only affects the forecast for its
/// own pod.
void remove_placement_hint(Pod& pod);

}  // namespace api
