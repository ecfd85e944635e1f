#pragma once

#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// A taint PreferNoSchedule of a policy's own, so that the scheduler places pods elsewhere if it can.
struct SoftTaint {
  std::string key;
  std::string value;
  std::vector<NodeIndex> nodes;  ///< sorted, each once
};

}  // namespace scheduling
