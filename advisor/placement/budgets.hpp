#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace advising {

/// A budget with the pods that it covers, as places in SnapshotInput::pods.
struct CoveredPods {
  const api::PodDisruptionBudget* budget = nullptr;
  std::vector<std::size_t> pods;
};

/// One for each budget, in their order; pods that have ended are left out.
std::vector<CoveredPods> covered_pods(const scheduling::SnapshotInput& cluster);

/// Why the budget never lets anybody go, however healthy its pods are; "": at times it does, or it covers nobody.
std::string why_blocking(const CoveredPods& covered);

}  // namespace advising
