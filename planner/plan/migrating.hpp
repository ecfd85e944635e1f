#pragma once

#include <string>
#include <unordered_set>

#include "planner/scheduling/refusal.hpp"
#include "planner/snapshot/cached_selector.hpp"

namespace planning {

/// Which pods are being moved by their owner already: marked as evicted in the background (upstream's annotation, which
/// KubeVirt keeps while it tries), or a launcher of a virtual machine that has two of them, source and target.
class MigratingPods {
 public:
  explicit MigratingPods(const scheduling::ClusterSnapshot& cluster);

  /// Why the pod is left to its owner; nullopt: it does not migrate.
  std::optional<scheduling::Refusal> refusal(scheduling::PodIndex pod);

 private:
  const std::unordered_set<std::string>& machines();

  const scheduling::ClusterSnapshot& cluster_;
  scheduling::CachedSelector is_launcher_;
  /// UIDs of VMIs with more than one running launcher; nullopt: nobody asked about a VM yet.
  std::optional<std::unordered_set<std::string>> machines_;
};

}  // namespace planning
