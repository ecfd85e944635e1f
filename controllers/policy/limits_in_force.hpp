#pragma once

/// Admission rules for the Evacuations of a policy, in every state of the policy.

#include <map>
#include <string>

#include "api/limits.hpp"
#include "controllers/policy/decide.hpp"

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

}  // namespace controllers
