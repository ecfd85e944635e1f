#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace advisor {

/// A budget and the pods that it covers, as indices into SnapshotInput::pods.
struct CoveredPods {
  const api::PodDisruptionBudget* budget = nullptr;
  std::vector<std::size_t> pods;
};

/// Returns one entry for each budget, in their order. Terminal pods are left out.
std::vector<CoveredPods> covered_pods(const scheduling::SnapshotInput& cluster);

/// Returns why the budget never allows an eviction, even if all its pods are healthy. Returns "" if it sometimes does,
/// or covers no pod.
std::string why_blocking(const CoveredPods& covered);

}  // namespace advisor
