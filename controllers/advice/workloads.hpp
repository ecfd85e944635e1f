#pragma once

/// Selection of the workloads that get advice, and mapping of pods to workloads. Pure.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "advisor/workloads.hpp"
#include "api/core/kinds.hpp"
#include "base/result.hpp"
#include "usage/parse/metrics_server.hpp"

namespace controllers::advice {

/// Cluster state from the caches.
struct Cluster {
  std::vector<std::shared_ptr<const api::Pod>> pods;
  /// Returns a ReplicaSet or Job by kind and key, or nullptr if it does not exist.
  std::function<std::shared_ptr<const api::Workload>(std::string_view kind, const api::ObjectKey& key)> workload;
  std::function<bool(const std::string& ns)> is_selected;
};

/// Reads the current usage of containers, like usage::sample_containers().
using ContainerSampler = std::function<base::Result<std::vector<std::string>>(const usage::EachContainer& each)>;

struct AdvisedWorkload {
  api::OwnerReference owner;  ///< Reference to the workload, for objects that it owns in its namespace
  int replicas = 0;           ///< Number of pods that are not finished
  /// Containers of the newest pod; at most api::kMaxAdvisedContainers.
  std::vector<advisor::ContainerSpec> containers;
};

struct AdvisedPod {
  advisor::WorkloadKey workload;
  std::optional<base::TimePoint> started;
};

struct Advised {
  std::map<advisor::WorkloadKey, AdvisedWorkload> workloads;
  std::unordered_map<std::string, AdvisedPod> pods;  ///< By pod_key()
  std::size_t left_out = 0;                          ///< Number of workloads beyond `most`
};

/// Returns at most `most` workloads. Each namespace gets an equal share, as far as it has workloads, in the order of
/// kinds and names. Users who create many workloads therefore take no advice away from other namespaces within their
/// share. Bare pods, mirror pods and Jobs without an owner get no advice: a name that is used once has no history.
Advised advised_workloads(const Cluster& cluster, std::size_t most);

/// Returns the fair share of advised_workloads() for a set of keys.
std::set<advisor::WorkloadKey> fair_share(const std::set<advisor::WorkloadKey>& wanted, std::size_t most);

std::string pod_key(std::string_view ns, std::string_view pod);
/// Returns the name of the workload's ResourceAdvice, such as "deployment-web".
std::string advice_name(const advisor::WorkloadKey& key);

}  // namespace controllers::advice
