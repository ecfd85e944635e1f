#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "planner/plan/planner.hpp"

namespace planning {

/// One of a plan in waves got no turn while it was its wave's: nothing was done to its pod, and the rest of the plan is
/// made anew with it. One that somebody cancelled, or that another strategy made, is not among them.
bool never_began(const api::Evacuation& evacuation);

/// The pods that Evacuations speak about, as every plan counts with them: the operator's, and those of whoever asks
/// what it would do.
class EvacuatingPods {
 public:
  /// For a plan of that policy.
  EvacuatingPods(std::string policy, api::PolicyMode mode) : policy_(std::move(policy)), mode_(mode) {}

  std::vector<PodIdentity> leaving;  ///< as good as gone from their nodes
  /// Not asked again for now: finished and not yet deleted by its TTL; or unfinished, but it is not said that the pod
  /// will go: a dry run, suspended by somebody, or made manually and not begun.
  std::vector<PodIdentity> cooling;

  /// One that ended because its pod was not there (TargetGone), or never_began(), says nothing about any pod.
  void add(const api::Evacuation& evacuation);

 private:
  bool is_leaving(const api::Evacuation& evacuation) const;

  std::string policy_;
  api::PolicyMode mode_;
};

}  // namespace planning
