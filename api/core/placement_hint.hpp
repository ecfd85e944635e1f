#pragma once

/// What a pod was before it was given a placement hint (docs/concepts/placement.md). Pure.

#include "api/core/kinds.hpp"

namespace api {

/// The weight of the preferred node term that a hint adds: as much as there is.
inline constexpr int kPlacementHintWeight = 100;

/// Takes the hint that annotation evacuator.dev/placement names out of the affinity of a pod that has a node: its
/// owner's template does not have it, and neither has the next pod. One without a node keeps it: that is where it goes.
/// What the annotation names and the affinity does not have is nothing; whoever forges it harms his own pod's forecast.
void remove_placement_hint(Pod& pod);

}  // namespace api
