#pragma once

#include <string>
#include <vector>

#include "scheduling/scoring/resource_scores.hpp"
#include "test/e2e/harness/api.hpp"

namespace e2e {

/// One scheduler profile of hack/cluster/scheduler.yaml, and what ours is asked for to match it.
struct SchedulerProfile {
  const char* name;
  scheduling::NodeScoring scoring;
  scheduling::ScoreWeights weights;
};

const std::vector<SchedulerProfile>& scheduler_profiles();
/// Throws Failure when there is none of that name.
const SchedulerProfile& scheduler_profile(const std::string& name);

/// What scheduling/ foretells for a pod that is on no node yet.
struct Foresight {
  std::vector<std::string> candidates;  ///< nodes that pass the filters
  std::vector<std::string> favourites;  ///< those of them with the best score
};

/// `nodes` and `pods` are live objects. The only place of the suite that shares lines with what it tests.
Foresight foresee(const std::vector<Json>& nodes, const std::vector<Json>& pods, const Json& pod,
                  const SchedulerProfile& profile);

}  // namespace e2e
