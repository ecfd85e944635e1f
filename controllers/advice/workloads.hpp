#pragma once

/// Which workloads get advice, and whose a pod is. Pure.

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

namespace controllers::advice {

/// What the caches know.
struct Cluster {
  std::vector<std::shared_ptr<const api::Pod>> pods;
  /// ReplicaSets and Jobs, by kind; nullptr: none of that name.
  std::function<std::shared_ptr<const api::Workload>(std::string_view kind, const api::ObjectKey& key)> workload;
  std::function<bool(const std::string& ns)> is_selected;
};

struct AdvisedWorkload {
  api::OwnerReference owner;  ///< the workload itself, as an owner of objects in its namespace
  int replicas = 0;           ///< pods that are not over
  /// Of its newest pod; at most api::kMaxAdvisedContainers.
  std::vector<advising::ContainerSpec> containers;
};

struct AdvisedPod {
  advising::WorkloadKey workload;
  std::optional<base::TimePoint> started;
};

struct Advised {
  std::map<advising::WorkloadKey, AdvisedWorkload> workloads;
  std::unordered_map<std::string, AdvisedPod> pods;  ///< by pod_key()
  std::size_t left_out = 0;                          ///< workloads beyond `most`
};

/// At most `most` workloads: every namespace gets as many as every other one, as far as it has them, in the order of
/// kinds and names. So nobody who makes workloads takes advice away from another namespace that has its share.
/// Bare pods, mirror pods and Jobs of nobody get none: a name that comes once has no past.
Advised advised_workloads(const Cluster& cluster, std::size_t most);

/// The same of keys alone.
std::set<advising::WorkloadKey> fair_share(const std::set<advising::WorkloadKey>& wanted, std::size_t most);

std::string pod_key(std::string_view ns, std::string_view pod);
/// "deployment-web": the name of the workload's ResourceAdvice.
std::string advice_name(const advising::WorkloadKey& key);

}  // namespace controllers::advice
