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

/// Tells admission what holds for the Evacuations of each policy: its limits, and what brakes it. Thread-safe.
class AdmissionRules {
 public:
  struct Dependencies {
    AdmissionQueue& admission;
    const kube::Store<ObservedPolicy>& policies;
    const base::Clock& clock;
    std::function<GateVerdict(const std::string& policy)> gates;
  };
  explicit AdmissionRules(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// The policy came or changed.
  void follow(const ObservedPolicy& policy);
  /// It was deleted.
  void forget(const std::string& policy);
  /// Blackouts and gates come and go without any change of the policy.
  void follow_time();
  /// The deletion of its policy lifts no brake and no limit from what waits: that is the garbage collector's, or
  /// nobody's.
  void hold_without_policy(const api::Evacuation& evacuation);

 private:
  LimitsInForce take(const ObservedPolicy& policy);

  Dependencies deps_;
  std::mutex mutex_;  ///< of the next two, and what admission is told of them
  PolicyLimitsInForce in_force_;
  std::map<std::string, std::string> brakes_;  ///< as admission knows them, by policy
};

}  // namespace controllers
