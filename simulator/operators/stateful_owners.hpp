#pragma once

#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"

namespace simulator {

/// Adds the operators of stateful workloads for which the evictor stateful-handoff has adapters, as visible from
/// outside (wire-protocols.md#workload-operators), with their webhooks: Strimzi, Couchbase, TiDB, Vitess. Their pods
/// are recognized by labels; a StatefulSet substitutes for the operators' own sets. Call before any traffic.
void add_stateful_owners(Cluster& cluster, ApiServer& server);

}  // namespace simulator
