#pragma once

/// What Patroni shows in Kubernetes: the annotation `status` of its pods, and the keys of its cluster, which are
/// annotations of Endpoints or ConfigMaps (wire-protocols.md#patroni). Foreign text: nonsense reads as absent.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evictors/handoff/switchover/members.hpp"

namespace evictors::handoff {

/// A member as it describes itself. Patroni writes it in the same patch as the role label.
struct PatroniMember {
  std::string state;            ///< "running", "stopped", …
  std::string role;             ///< of PostgreSQL: "master", "primary", "replica", "standby_leader"
  std::string scheme = "http";  ///< of its REST API
  int port = 8008;              ///< of its REST API
  bool may_lead = true;         ///< no tag `nofailover`, no `failover_priority` below 1
  std::int64_t position = 0;    ///< in the log, bytes
};
/// nullopt: no Patroni has written on this pod.
std::optional<PatroniMember> patroni_member(const api::Pod& pod);

/// Why that replica would be refused as a candidate; empty: nothing is known against it.
std::string unfit_patroni_member(const api::Pod& pod);

/// Where the cluster keeps its keys.
enum class PatroniStore {
  kUnread,      ///< not known: a read failed
  kEndpoints,   ///< Endpoints SCOPE (leader), SCOPE-config, SCOPE-sync, SCOPE-failover
  kConfigMaps,  ///< ConfigMaps SCOPE-leader, SCOPE-config, …
  kElsewhere,   ///< not in Kubernetes: etcd or another store
};
PatroniStore patroni_store(const EvictorContext& context);

/// The leader key; as soon as its kind is known the failover key, and with `all` the other keys, too. `scope`
/// is_plain_name(). `may_use_maps`: Patroni may keep its keys in ConfigMaps; false: no ConfigMap is read.
std::vector<Read> patroni_reads(const EvictorContext& context, const std::string& scope, bool all,
                                bool may_use_maps = true);
/// A document of patroni_reads().
bool is_patroni_key(const Document& document);
/// All keys were read, or there are none in Kubernetes.
bool has_patroni_keys(const EvictorContext& context);

/// The member that the leader key names; empty: no member leads.
std::string patroni_leader(const EvictorContext& context);
/// The leader key names that pod, or Patroni does not keep it in Kubernetes.
bool patroni_confirms(const EvictorContext& context, const api::Pod& leader);
/// A switchover that Patroni has accepted may make the pod leader.
bool patroni_may_promote(const EvictorContext& context);
/// The candidate of a switchover away from `leader` that Patroni has accepted and not finished; empty: there is none.
/// "?": any member.
std::string patroni_failover(const EvictorContext& context, const std::string& leader);
/// The synchronous standbys; nullopt: replication is asynchronous, as it always is in a standby cluster.
std::optional<std::vector<std::string>> patroni_sync_standbys(const EvictorContext& context);
/// How long Patroni itself waits for a switchover before it answers: twice its loop_wait, at least 20 s. nullopt: its
/// configuration is not known.
std::optional<base::seconds> patroni_patience(const EvictorContext& context);

}  // namespace evictors::handoff
