#pragma once

/// Fragmented clusters: nodes full of ordinary pods, and others held open by a few pods that have nowhere to go.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace fragmentation {

/// What all kinds have in common: half of the nodes are full, each node has a pod of a DaemonSet.
std::vector<std::string_view> kinds();

/// Clusters that are made to be hard, beside those: see adverse/kinds.cpp.
std::vector<std::string_view> adverse_kinds();

/// REQUIRES: `kind` is one of kinds() or adverse_kinds(). The same for the same arguments, everywhere.
scheduling::SnapshotInput make_cluster(std::string_view kind, int nodes, std::uint64_t seed);

}  // namespace fragmentation
