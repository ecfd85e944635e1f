#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "cmd/session/session.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace cmd::plugin {

/// State of the live cluster for explanations, read once and read-only. An unreadable kind is missing and listed in
/// `problems`.
struct LiveCluster {
  std::optional<scheduling::SnapshotInput> snapshot;  ///< nullopt if nodes or pods could not be read
  std::vector<api::DeschedulerPolicy> policies;
  std::vector<api::Evacuation> evacuations;  ///< of all namespaces, or only of `ns` if permissions are restricted
  std::vector<std::string> problems;
  std::optional<int> server_minor;  ///< server version is Kubernetes 1.`server_minor`; nullopt if unknown
};
LiveCluster read_cluster(Session& session, const std::string& ns);

base::Result<std::vector<api::PodDisruptionBudget>> budgets_in(Session& session, const std::string& ns);

}  // namespace cmd::plugin
