#pragma once

/// Clusters that are hard to defragment, or whose bound is hard to compute.

#include <cstdint>
#include <optional>
#include <string_view>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace fragmentation {

/// Returns nullopt if `kind` is not one of adverse_kinds() (test/scenarios/fragmentation/clusters.hpp).
std::optional<scheduling::SnapshotInput> make_adverse_cluster(std::string_view kind, int nodes, std::uint64_t seed);

}  // namespace fragmentation
