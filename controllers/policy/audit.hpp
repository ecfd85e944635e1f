#pragma once

/// What the policy controller tells the audit log; the Evacuation controller's port is in
/// controllers/evacuation/ports.hpp.

#include <string>
#include <string_view>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/result.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// Thread-safe; never fails.
class PolicyAudit {
 public:
  virtual ~PolicyAudit() = default;
  /// A cycle was planned; nothing is created yet.
  virtual void on_planned(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) = 0;
  /// An Evacuation was created, or (`error` is set) was not.
  virtual void on_created(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                          const api::Evacuation& evacuation, const base::Error* error) = 0;
  /// The cycle is over.
  virtual void on_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) = 0;
  /// A policy was found invalid, in this edition.
  virtual void on_invalid(const api::ObjectMeta& policy, std::string_view problem) = 0;
  /// A policy of that name was deleted: the next one is another.
  virtual void forget(const std::string& /*policy*/) {}
  /// Why records cannot be written at present; empty: they can.
  virtual std::string failing() const = 0;
};
/// Keeps nothing.
PolicyAudit& no_policy_audit();

}  // namespace controllers
