#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/taints/soft_taints.hpp"
#include "kube/runtime/store.hpp"
#include "planner/plan/plan_spec.hpp"

namespace controllers {

/// Soft taints of nodes (controllers/taints) requested by the cycles of a policy, by policy name.
class PolicyTaints {
 public:
  /// With `taints` nullptr no node gets taints, and all calls are no-ops. `evacuations` must have the index kByPolicy.
  PolicyTaints(SoftTaints* taints, const kube::Store<api::Evacuation>& evacuations, const base::Clock& clock)
      : taints_(taints), evacuations_(evacuations), clock_(clock) {}

  /// Whether plans of the policy may rely on its taints being written.
  bool may_plan_with(const api::DeschedulerPolicy& policy) const;
  /// Nodes whose soft taint must stay for replacements of the policy's earlier moves. REQUIRES: may_plan_with().
  std::vector<std::string> pledged(const std::string& policy, const planner::PlanSpec& spec, base::TimePoint now) const;
  /// Places the taints that the outcome requests. Returns false if the outcome relies on taints that cannot be
  /// written. Changes nothing if the outcome was not judged.
  bool place(const std::string& policy, const CycleOutcome& outcome, const std::function<void()>& progress) const;
  /// Records that the moves about to be created rely on the placed taints.
  void pledge(const std::string& policy, const planner::PlanSpec& spec, const CycleOutcome& outcome) const;

  /// Removes the taints that keep nodes empty, when no Evacuation needs them any more.
  void stop_emptying(const std::string& policy) const;
  void drop(const std::string& policy) const;

  /// Sets condition SoftTaints.
  void tell(std::vector<api::Condition>& conditions, const api::DeschedulerPolicy& policy,
            const planner::PlanSpec& spec, base::TimePoint now) const;

 private:
  SoftTaints* taints_;
  const kube::Store<api::Evacuation>& evacuations_;
  const base::Clock& clock_;
};

}  // namespace controllers
