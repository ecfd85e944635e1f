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

/// What a policy's cycles want of the soft taints of nodes (controllers/taints), by the policy's name.
class PolicyTaints {
 public:
  /// `taints`: nullptr: no node gets any, and nothing here does anything. `evacuations`: with the index kByPolicy.
  PolicyTaints(SoftTaints* taints, const kube::Store<api::Evacuation>& evacuations, const base::Clock& clock)
      : taints_(taints), evacuations_(evacuations), clock_(clock) {}

  /// The policy's plans may count on taints: those of nobody else are in the way.
  bool may_plan_with(const api::DeschedulerPolicy& policy) const;
  /// Nodes whose soft taint replacements of the policy's earlier moves are still to meet. REQUIRES: may_plan_with().
  std::vector<std::string> pledged(const std::string& policy, const planning::PlanSpec& spec,
                                   base::TimePoint now) const;
  /// Puts those on nodes that the outcome asks for. False: it counts on taints that cannot be written. Without a
  /// judgement nothing changes.
  bool place(const std::string& policy, const CycleOutcome& outcome, const std::function<void()>& progress) const;
  /// The moves that are about to be made count on the taints that were placed.
  void pledge(const std::string& policy, const planning::PlanSpec& spec, const CycleOutcome& outcome) const;

  /// No Evacuation is there for whose sake nodes are to be avoided.
  void stop_emptying(const std::string& policy) const;
  void drop(const std::string& policy) const;

  /// Condition SoftTaints.
  void tell(std::vector<api::Condition>& conditions, const api::DeschedulerPolicy& policy,
            const planning::PlanSpec& spec, base::TimePoint now) const;

 private:
  std::vector<api::ObjectKey> unfinished(const std::string& policy, const planning::PlanSpec& spec) const;

  SoftTaints* taints_;
  const kube::Store<api::Evacuation>& evacuations_;
  const base::Clock& clock_;
};

}  // namespace controllers
