#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/scheduling/scoring/resource_scores.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "test/e2e/harness/api.hpp"

namespace e2e {

/// One scheduler profile of hack/cluster/scheduler.yaml and scheduler-v1.yaml, with the matching settings of the
/// planner.
struct SchedulerProfile {
  const char* name;
  scheduling::NodeScoring scoring;
  std::optional<scheduling::ScoreWeights> weights;  ///< nullopt for those of the version's default profile

  bool has_pod_affinity() const { return !weights || weights->pod_affinity > 0; }
  bool has_spread() const { return !weights || weights->spread > 0; }
};

/// The first profile exists in every scheduler.
const std::vector<SchedulerProfile>& scheduler_profiles();
/// Throws Failure if no profile has this name.
const SchedulerProfile& scheduler_profile(const std::string& name);

/// The prediction of planner/scheduling for a pod without a node.
struct Foresight {
  std::vector<std::string> candidates;  ///< nodes that pass the filters
  std::vector<std::string> favourites;  ///< candidates with the best score
};

/// `nodes` and `pods` are live objects, `minor` is the server's minor version. This is the only function of the suite
/// that uses the code under test.
Foresight foresee(const std::vector<Json>& nodes, const std::vector<Json>& pods, const Json& pod,
                  const SchedulerProfile& profile, int minor);

}  // namespace e2e
