#pragma once

/// What admission goes by for the Evacuations of a policy, whatever state the policy is in.

#include <map>
#include <string>

#include "api/limits.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

struct LimitsInForce {
  api::AdmissionLimits limits;
  std::string hold_reason;  ///< why nothing more of the policy is admitted, for people; empty: the limits decide
  friend bool operator==(const LimitsInForce&, const LimitsInForce&) = default;
};

/// Mode DryRun, suspend, an open circuit breaker, a blackout, a gate and the policy's deletion are a brake: what waits
/// is not admitted, what runs goes on. A spec that cannot be read does not lift a limit: what of it can be read counts,
/// and limits that cannot are those that could be read last. While there are none, or while nobody knows whether a
/// blackout holds, nothing is admitted. Not thread-safe.
class PolicyLimitsInForce {
 public:
  /// `gates`: what the policy's gates say.
  LimitsInForce take(const ObservedPolicy& policy, base::TimePoint now, const GateVerdict& gates = {});
  /// The policy was deleted.
  void forget(const std::string& policy) { last_read_.erase(policy); }

 private:
  std::map<std::string, api::AdmissionLimits> last_read_;  ///< by policy
};

}  // namespace controllers
