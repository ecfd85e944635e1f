#pragma once

/// Fragmented clusters: nodes full of ordinary pods, and nodes that are kept in use by a few pods that fit nowhere
/// else.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace fragmentation {

/// Returns the regular kinds. In all of them, half of the nodes are full and each node has a pod of a DaemonSet.
std::vector<std::string_view> kinds();

/// Returns the kinds of clusters that are hard by design: see adverse/kinds.cpp.
std::vector<std::string_view> adverse_kinds();

/// REQUIRES: `kind` is one of kinds() or adverse_kinds(). Deterministic on all platforms.
scheduling::SnapshotInput make_cluster(std::string_view kind, int nodes, std::uint64_t seed);

}  // namespace fragmentation
