#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "api/evacuation.hpp"
#include "api/limits.hpp"
#include "base/clock.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/gates/answers.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

struct LimitsInForce {
  api::AdmissionLimits limits;
  std::string hold_reason;  ///< human-readable reason to admit none, empty if the limits decide
  friend bool operator==(const LimitsInForce&, const LimitsInForce&) = default;
};

/// Mode DryRun, suspend, an open circuit breaker, a blackout, a gate and the policy's deletion hold waiting Evacuations
/// back; running ones continue. A spec that does not decode lifts no limit: its decodable parts count, and limits that
/// do not decode are those that decoded last. If there are none, or it is unknown whether a blackout holds, none is
/// admitted. Not thread-safe.
class PolicyLimitsInForce {
 public:
  /// `gates`: verdict of the policy's gates.
  LimitsInForce take(const ObservedPolicy& policy, base::TimePoint now, const GateVerdict& gates = {});
  /// Call when the policy was deleted.
  void forget(const std::string& policy) { last_read_.erase(policy); }

 private:
  std::map<std::string, api::AdmissionLimits> last_read_;  ///< by policy
};

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
  /// If the policy of `evacuation` does not exist, admits none of its Evacuations until they are garbage-collected.
  void hold_without_policy(const api::Evacuation& evacuation);

 private:
  LimitsInForce take(const ObservedPolicy& policy);

  Dependencies deps_;
  std::mutex mutex_;  ///< guards the members below, and the order of updates to `admission`
  PolicyLimitsInForce in_force_;
  std::map<std::string, std::string> hold_reasons_;  ///< as last set in the admission queue, by policy
};

}  // namespace controllers
