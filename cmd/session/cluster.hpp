#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "cmd/session/session.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace cmd::plugin {

/// What explaining needs of the live cluster, read once and without touching anything. A kind that may not be read is
/// missing, with the reason among the problems.
struct LiveCluster {
  std::optional<scheduling::SnapshotInput> snapshot;  ///< absent: nodes or pods could not be read
  std::vector<api::DeschedulerPolicy> policies;
  std::vector<api::Evacuation> evacuations;  ///< of all namespaces, or of `ns` alone when no more may be read
  std::vector<std::string> problems;
  std::optional<int> server_minor;  ///< it is Kubernetes 1.`server_minor`; absent: it does not say
};
LiveCluster read_cluster(Session& session, const std::string& ns);

/// The budgets of one namespace.
base::Result<std::vector<api::PodDisruptionBudget>> budgets_in(Session& session, const std::string& ns);

}  // namespace cmd::plugin
