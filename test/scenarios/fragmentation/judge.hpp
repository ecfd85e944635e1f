#pragma once

/// An opinion about a plan that shares no code with the planner: it replays the moves wave by wave on the objects
/// alone.

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
  int bound = 0;  ///< no plan frees more nodes
  int moves = 0;
  int waves = 0;
  std::vector<std::string> broken;  ///< rules, the first few

  int freed() const { return busy_before - busy_after; }
};

/// The pod may not move: no owner would start it again, or it is critical for the system.
bool stays(const api::Pod& pod);

/// The pod may be on the node by its selector and its required node affinity.
bool selects(const api::Pod& pod, const api::Node& node);

/// No taint of the node keeps the pod off.
bool tolerates(const api::Pod& pod, const api::Node& node);

/// Of the node, that its containers ask for: with one protocol and on all addresses.
std::set<std::int32_t> ports_of(const api::Pod& pod);

/// The moves of a wave are in flight together: each pod counts on its old node and on its new one until the wave is
/// done. Moves without a wave come one after the other.
Verdict judge(const scheduling::SnapshotInput& cluster, const std::vector<api::PlannedMove>& moves);

}  // namespace fragmentation
