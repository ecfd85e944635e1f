#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/scheduling/scoring/resource_scores.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "test/e2e/harness/api.hpp"

namespace e2e {

/// One scheduler profile of hack/cluster/scheduler.yaml and scheduler-v1.yaml, and what ours is asked for to match it.
struct SchedulerProfile {
  const char* name;
  scheduling::NodeScoring scoring;
  std::optional<scheduling::ScoreWeights> weights;  ///< absent: those of the version's default profile

  bool has_pod_affinity() const { return !weights || weights->pod_affinity > 0; }
  bool has_spread() const { return !weights || weights->spread > 0; }
};

/// The first one is every scheduler's own.
const std::vector<SchedulerProfile>& scheduler_profiles();
/// Throws Failure when there is none of that name.
const SchedulerProfile& scheduler_profile(const std::string& name);

/// What planner/scheduling foretells for a pod that is on no node yet.
struct Foresight {
  std::vector<std::string> candidates;  ///< nodes that pass the filters
  std::vector<std::string> favourites;  ///< those of them with the best score
};

/// `nodes` and `pods` are live objects; `minor`: of the server's version. The only place of the suite that shares lines
/// with what it tests.
Foresight foresee(const std::vector<Json>& nodes, const std::vector<Json>& pods, const Json& pod,
                  const SchedulerProfile& profile, int minor);

}  // namespace e2e
