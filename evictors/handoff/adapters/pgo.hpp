#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// Crunchy PGO: the annotation trigger-switchover on the PostgresCluster, then eviction as a replica. Opt-in by
/// parameter `switchover`; needs the ClusterRole evacuator-handoff-pgo.
std::unique_ptr<HandoffAdapter> pgo_adapter();

}  // namespace evictors
