#pragma once

/// Patroni's state in Kubernetes: the annotation `status` of its pods, and the keys of its cluster, which are
/// annotations of Endpoints or ConfigMaps (wire-protocols.md#patroni). Untrusted input: invalid values read as absent.

#include <optional>
#include <string>
#include <vector>

#include "evictors/handoff/switchover/members.hpp"

namespace evictors::handoff {

/// State that a member publishes about itself. Patroni writes it in the same patch as the role label.
struct PatroniMember {
  std::string state;            ///< "running", "stopped", …
  std::string role;             ///< role of PostgreSQL: "master", "primary", "replica", "standby_leader"
  std::string scheme = "http";  ///< scheme of its REST API
  int port = 8008;              ///< port of its REST API
  bool may_lead = true;         ///< no tag `nofailover`, no `failover_priority` below 1
  std::int64_t position = 0;    ///< position in the log, bytes
};
/// Returns nullopt if Patroni has not written to the pod.
std::optional<PatroniMember> patroni_member(const api::Pod& pod);

/// Returns why Patroni would refuse the replica as a candidate, empty if no reason is known.
std::string unfit_patroni_member(const api::Pod& pod);

/// Storage of the cluster's Patroni keys.
enum class PatroniStore {
  kUnread,      ///< unknown, because a read failed or is missing
  kEndpoints,   ///< Endpoints SCOPE (leader), SCOPE-config, SCOPE-sync, SCOPE-failover
  kConfigMaps,  ///< ConfigMaps SCOPE-leader, SCOPE-config, …
  kElsewhere,   ///< outside Kubernetes: etcd or another store
};
PatroniStore patroni_store(const EvictorContext& context);

/// Returns the read of the leader key and, once the store is known, of the failover key and with `all` of the other
/// keys. `scope` must be is_plain_name(). Set `may_use_maps` to false if Patroni does not keep its keys in ConfigMaps;
/// no ConfigMap is then read.
std::vector<Read> patroni_reads(const EvictorContext& context, const std::string& scope, bool all,
                                bool may_use_maps = true);
/// Returns true for a document of patroni_reads().
bool is_patroni_key(const Document& document);
/// Returns true if all requested keys were read, or there are none in Kubernetes.
bool has_patroni_keys(const EvictorContext& context);

/// Returns the member in the leader key, empty if no member leads.
std::string patroni_leader(const EvictorContext& context);
/// Returns true if the leader key names the pod, or Patroni does not keep it in Kubernetes.
bool patroni_confirms(const EvictorContext& context, const api::Pod& leader);
/// Returns true if an accepted switchover may make the pod leader.
bool patroni_may_promote(const EvictorContext& context);
/// Returns the candidate of an accepted, unfinished switchover away from `leader`, "?" if any member may become leader.
/// Empty if there is no such switchover.
std::string patroni_failover(const EvictorContext& context, const std::string& leader);
/// Returns the synchronous standbys. Returns nullopt if replication is asynchronous, which includes standby clusters.
std::optional<std::vector<std::string>> patroni_sync_standbys(const EvictorContext& context);
/// Returns the time that Patroni itself waits for a switchover before it answers: twice its loop_wait, at least 20 s.
/// Returns nullopt if its configuration is unknown.
std::optional<base::seconds> patroni_patience(const EvictorContext& context);

}  // namespace evictors::handoff
