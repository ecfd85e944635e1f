#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// Zalando's postgres-operator: Patroni's POST /switchover on the primary's pod, then its eviction as a replica. Opt-in
/// by parameter `switchover`; through the API server's pod proxy (ClusterRole evacuator-handoff-patroni) or, with
/// parameter `service`, through a configured service.
std::unique_ptr<HandoffAdapter> patroni_adapter();

}  // namespace evictors
