#pragma once

#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// A PreferNoSchedule taint set by a policy, so that the scheduler prefers other nodes.
struct SoftTaint {
  std::string key;
  std::string value;
  std::vector<NodeIndex> nodes;  ///< sorted, without duplicates
};

}  // namespace scheduling
