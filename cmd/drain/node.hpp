#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/drain/drain.hpp"
#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// The pods of a node, all namespaces.
base::Result<std::vector<api::Pod>> pods_on_node(Session& session, const std::string& node,
                                                 const std::string& pod_selector = {});
/// PodGroups of scheduling.k8s.io in the namespaces of pods that name one, as far as they may be read; nullopt: the
/// server has no such kind.
std::optional<std::vector<api::SchedulingPodGroup>> scheduling_groups_of(Session& session,
                                                                         const std::vector<api::Pod>& pods);

/// Asks the API for the replicas of pods' owners, each owner once; what may not be read counts as unknown.
class OwnerReplicas {
 public:
  explicit OwnerReplicas(Session& session) : session_(session) {}
  std::optional<std::int32_t> operator()(const api::Pod& pod);

 private:
  Session& session_;
  std::map<std::string, std::optional<std::int32_t>> known_;  ///< by the owner's UID
};

/// Makes the node unschedulable and notes by whom, or takes that back. `words` of what was done.
base::Result<std::string> cordon(Session& session, const api::Node& node, const std::string& requester);
base::Result<std::string> uncordon(Session& session, const std::string& node);
/// The cordon is ours: a drain of this plugin made it and nobody took it back.
bool is_cordoned_by_us(const api::Node& node);

/// Evacuations of the node's drain that are not finished.
base::Result<std::vector<StoredEvacuation>> drain_evacuations(Session& session, const std::string& node);

/// Requests the cancellation of all of them and says so line by line. Those that were asked now, or the first error.
base::Result<std::vector<StoredEvacuation>> cancel_drain(Session& session, const std::string& node,
                                                         const std::string& reason);

}  // namespace cmd::plugin
