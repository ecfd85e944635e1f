#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "planner/plan/planner.hpp"

namespace planner {

/// Returns true for an Evacuation of a plan in waves that expired before it began. Its pod was not touched and the
/// remaining plan is recomputed including it. False for Evacuations that were cancelled or made by another strategy.
bool never_began(const api::Evacuation& evacuation);

/// Pods of existing Evacuations as every plan takes them into account, both in the operator and in dry-run tools.
class EvacuatingPods {
 public:
  /// For a plan of this policy.
  EvacuatingPods(std::string policy, api::PolicyMode mode) : policy_(std::move(policy)), mode_(mode) {}

  std::vector<PodIdentity> leaving;  ///< pods planned as already gone from their nodes
  /// Pods not nominated for now: their Evacuation is finished but not yet deleted by its TTL, or it is unfinished and
  /// the pod may stay (dry run, suspended by a user, or manual and not started).
  std::vector<PodIdentity> cooling;

  /// Adds the pod of an Evacuation. Ignores one that ended as TargetGone or for which never_began() holds.
  void add(const api::Evacuation& evacuation);

 private:
  bool is_leaving(const api::Evacuation& evacuation) const;

  std::string policy_;
  api::PolicyMode mode_;
};

}  // namespace planner
