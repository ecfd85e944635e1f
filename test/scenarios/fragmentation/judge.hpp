#pragma once

/// Judges a plan independently of the planner's code: replays the moves wave by wave on the objects.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace fragmentation {

struct Verdict {
  int busy_before = 0;  ///< nodes with pods other than DaemonSets'
  int busy_after = 0;
  int bound = 0;  ///< upper bound of freed nodes for any plan
  int moves = 0;
  int waves = 0;
  std::vector<std::string> broken;  ///< the first few broken rules

  int freed() const { return busy_before - busy_after; }
};

/// Returns true if the pod may not move, because no owner would recreate it or because it is system-critical.
bool stays(const api::Pod& pod);

/// Returns true if the pod's selector and required node affinity allow the node.
bool selects(const api::Pod& pod, const api::Node& node);

/// Returns true if the pod tolerates all taints of the node.
bool tolerates(const api::Pod& pod, const api::Node& node);

/// Returns the host ports of the pod's containers. Assumes one protocol and all addresses.
std::set<std::int32_t> ports_of(const api::Pod& pod);

/// All moves of a wave are concurrent: each pod counts on its old node and on its new one until the wave is complete.
/// Moves without a wave are sequential.
Verdict judge(const scheduling::SnapshotInput& cluster, const std::vector<api::PlannedMove>& moves);

}  // namespace fragmentation
