#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cmd/drain/drain.hpp"
#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// Returns the pods on a node in all namespaces.
base::Result<std::vector<api::Pod>> pods_on_node(Session& session, const std::string& node,
                                                 const std::string& pod_selector = {});
/// Returns the readable PodGroups of scheduling.k8s.io in the namespaces of pods that reference one. Returns nullopt if
/// the server lacks the kind.
std::optional<std::vector<api::SchedulingPodGroup>> scheduling_groups_of(Session& session,
                                                                         const std::vector<api::Pod>& pods);

/// Returns the UIDs of launcher pods of KubeVirt whose guest shuts down on eviction, for
/// DrainRules::shutdown_launchers. Depends on the VirtualMachineInstance and the cluster's evictionStrategy. A machine
/// that cannot be read counts as shutting down. Reads nothing if there are no launcher pods.
std::set<std::string> read_shutdown_launchers(Session& session, const std::vector<api::Pod>& pods);

/// Reads the replicas of pods' owners from the API server, once per owner. Returns nullopt if an owner cannot be read.
class OwnerReplicas {
 public:
  explicit OwnerReplicas(Session& session) : session_(session) {}
  std::optional<std::int32_t> operator()(const api::Pod& pod);

 private:
  Session& session_;
  std::map<std::string, std::optional<std::int32_t>> known_;  ///< by UID of the owner
};

/// Cordons a node and records the requester, or uncordons it. Returns a message that describes the change.
base::Result<std::string> cordon(Session& session, const api::Node& node, const std::string& requester);
base::Result<std::string> uncordon(Session& session, const std::string& node);
/// Returns true if the current cordon was made by a drain of this plugin.
bool is_cordoned_by_us(const api::Node& node);

/// Requests cancellation of the drain's Evacuations and prints a line for each. Returns the Evacuations cancelled by
/// this call, or the first error.
base::Result<std::vector<StoredEvacuation>> cancel_drain(Session& session, const std::string& node,
                                                         const std::string& reason);

}  // namespace cmd::plugin
