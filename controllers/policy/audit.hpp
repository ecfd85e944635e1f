#pragma once

/// Audit log as used by the policy controller. controllers/evacuation/ports.hpp has the interface of the Evacuation
/// controller.

#include <string>
#include <string_view>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/result.hpp"

namespace controllers {

struct CycleOutcome;

/// Never fails. Thread-safe.
class PolicyAudit {
 public:
  virtual ~PolicyAudit() = default;
  /// Reports a planned cycle before any Evacuation is created.
  virtual void on_planned(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) = 0;
  /// Reports that an Evacuation was created, or was not if `error` is set.
  virtual void on_created(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                          const api::Evacuation& evacuation, const base::Error* error) = 0;
  /// Reports the end of the cycle.
  virtual void on_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) = 0;
  /// Reports that this generation of a policy is invalid.
  virtual void on_invalid(const api::ObjectMeta& policy, std::string_view problem) = 0;
  /// Call when the policy with this name was deleted; a later one with the same name is a new policy.
  virtual void forget(const std::string& /*policy*/) {}
  /// Returns why records cannot be written at present, empty if they can.
  virtual std::string failing() const = 0;
};
/// No-op implementation.
PolicyAudit& no_policy_audit();

}  // namespace controllers
