#pragma once

#include <vector>

#include "api/evacuation.hpp"
#include "planning/planner.hpp"

namespace planning {

/// The pods that Evacuations speak about, as every plan counts with them: the operator's, and those of whoever asks
/// what it would do.
struct EvacuatingPods {
  std::vector<PodIdentity> leaving;  ///< unfinished: as good as gone from their nodes
  std::vector<PodIdentity> cooling;  ///< finished, not yet deleted by its TTL: not asked again until then

  /// One that ended because its pod was not there (TargetGone) says nothing about any pod.
  void add(const api::Evacuation& evacuation);
};

}  // namespace planning
