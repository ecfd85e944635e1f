#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/policy/gates/verdict.hpp"
#include "controllers/policy/limits_in_force.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

/// Keeps the admission queue up to date on the limits and hold reasons of each policy. Thread-safe.
class AdmissionRules {
 public:
  struct Dependencies {
    AdmissionQueue& admission;
    const kube::Store<ObservedPolicy>& policies;
    const base::Clock& clock;
    std::function<GateVerdict(const std::string& policy)> gates;
  };
  explicit AdmissionRules(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// Call when the policy was added or changed.
  void follow(const ObservedPolicy& policy);
  /// Call when the policy was deleted.
  void forget(const std::string& policy);
  /// Applies blackouts and gates that began or ended without a change of the policy. Call periodically.
  void follow_time();
  /// If the policy of `evacuation` does not exist, admits none of the policy's Evacuations. The garbage collector
  /// deletes them.
  void hold_without_policy(const api::Evacuation& evacuation);

 private:
  LimitsInForce take(const ObservedPolicy& policy);

  Dependencies deps_;
  std::mutex mutex_;  ///< guards the members below, and the order of updates to `admission`
  PolicyLimitsInForce in_force_;
  std::map<std::string, std::string> hold_reasons_;  ///< as last set in the admission queue, by policy
};

}  // namespace controllers
