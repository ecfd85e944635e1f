#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// CloudNativePG: a primary is switched over (Cluster status.targetPrimary) before it is evicted as a replica. Writing
/// the Cluster is opt-in by parameter `switchover` and needs the ClusterRole evacuator-handoff-cloudnative-pg.
std::unique_ptr<HandoffAdapter> cloudnative_pg_adapter();

}  // namespace evictors
