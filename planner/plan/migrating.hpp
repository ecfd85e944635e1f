#pragma once

#include <string>
#include <unordered_set>

#include "planner/scheduling/refusal.hpp"
#include "planner/snapshot/cached_selector.hpp"

namespace planner {

/// Finds pods that their owner is already moving: those with upstream's annotation for eviction in progress, which
/// KubeVirt keeps while it tries to migrate, and launchers of a virtual machine that has two of them, source and
/// target.
class MigratingPods {
 public:
  explicit MigratingPods(const scheduling::ClusterSnapshot& cluster);

  /// Returns why the pod is left to its owner, or nullopt if it is not migrating.
  std::optional<scheduling::Refusal> refusal(scheduling::PodIndex pod);

 private:
  const std::unordered_set<std::string>& machines();

  const scheduling::ClusterSnapshot& cluster_;
  scheduling::CachedSelector is_launcher_;
  /// UIDs of VMIs with more than one running launcher. Computed on first use.
  std::optional<std::unordered_set<std::string>> machines_;
};

}  // namespace planner
