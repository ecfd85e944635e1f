#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "test/e2e/harness/api.hpp"

namespace e2e::manifest {

/// Pods of `name` have the label app=<name>, minimal requests, and stop within a second.
struct Workload {
  std::string ns;
  std::string name;
  int replicas = 1;
  std::map<std::string, std::string> annotations{};  ///< annotations of the pods
};

Json deployment(const Workload& workload);
Json stateful_set(const Workload& workload);
/// `version` is "policy/v1" or "policy/v1beta1".
Json pod_disruption_budget(std::string_view version, std::string_view ns, std::string_view app, int min_available);

/// Merges `spec` over {podRef: {name: pod, uid}} and short timeouts. Omits an empty uid.
Json evacuation(std::string_view ns, std::string_view name, std::string_view pod, std::string_view uid,
                const Json& spec = {});

/// The policy applies to `ns` only. Merges `spec` over mode, a short interval and PodLifeTime with `max_age_seconds`.
Json pod_life_time_policy(std::string_view name, std::string_view ns, int max_age_seconds, const Json& spec = {});

}  // namespace e2e::manifest
