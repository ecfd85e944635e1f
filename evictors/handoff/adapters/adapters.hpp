#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

/// One adapter per workload operator. Their protocols: wire-protocols.md#workload-operators.
namespace evictors::handoff {

/// Evacuator's two-way protocol (wire-protocols.md#handoff-protocol). Shares its code with the evictor
/// `annotation`.
std::unique_ptr<Adapter> generic_adapter();

/// Kafka under Strimzi: `strimzi.io/manual-rolling-update`, or an eviction that the drain cleaner's webhook takes over.
/// The operator rolls the pod (same name, new UID) and cannot report a failure.
std::unique_ptr<Adapter> strimzi_adapter();

/// Couchbase Server: `cao.couchbase.com/reschedule`, or an eviction that the reschedule hook takes over.
std::unique_ptr<Adapter> couchbase_adapter();

/// Vitess under PlanetScale's operator: the drain.planetscale.com annotations. The adapter evicts after `finished`,
/// which may be withdrawn.
std::unique_ptr<Adapter> vitess_adapter();

/// CloudNativePG and EDB Postgres for Kubernetes: switches over a primary (Cluster status.targetPrimary), then evicts
/// it as a replica. Writing the Cluster is opt-in by parameter `switchover` and needs the ClusterRole
/// evacuator-handoff-cloudnative-pg.
std::unique_ptr<Adapter> cloudnative_pg_adapter();

/// Zalando's postgres-operator and any other Patroni in Kubernetes: sends POST /switchover to Patroni on the primary's
/// pod, then evicts the pod as a replica. Opt-in by parameter `switchover`. Calls go through the API server's pod proxy
/// (ClusterRole evacuator-handoff-patroni) or, with parameter `service`, through a configured service.
std::unique_ptr<Adapter> patroni_adapter();

/// Crunchy PGO: sets the annotation trigger-switchover on the PostgresCluster, then evicts the pod as a replica. Opt-in
/// by parameter `switchover`; needs the ClusterRole evacuator-handoff-pgo.
std::unique_ptr<Adapter> pgo_adapter();

/// TiKV under TiDB operator: `tidb.pingcap.com/evict-leader: delete-pod`. The operator moves the leaders away and
/// deletes the pod.
std::unique_ptr<Adapter> tikv_adapter();

/// TiKV under TiDB operator v2, which moves the leaders away while the pod terminates. The adapter sends a plain
/// eviction and never changes the grace period.
std::unique_ptr<Adapter> tikv_v2_adapter();

/// No operator: the eviction API between the policy's hooks. Recognises no pod by itself.
std::unique_ptr<Adapter> none_adapter();

}  // namespace evictors::handoff
