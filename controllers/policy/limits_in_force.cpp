#include "controllers/policy/limits_in_force.hpp"

#include <fmt/format.h>

#include "controllers/policy/schedule/schedule.hpp"

namespace controllers {
namespace {

/// Hold reason of a blackout, empty outside of blackouts.
std::string blackout_of(const ObservedPolicy& policy, base::TimePoint now) {
  if (policy.spec.schedule.blackouts.empty()) return {};
  const auto schedule = Schedule::read(policy.spec.schedule);
  if (!schedule)
    return fmt::format("spec.schedule of policy {} is invalid: its Evacuations are not admitted", policy.meta.name);
  if (schedule->calendar().at(now) != Opening::kBlackout) return {};
  return fmt::format("policy {} is inside a blackout: its Evacuations are not admitted", policy.meta.name);
}

/// Hold reason, empty if the limits decide.
std::string hold_reason_of(const ObservedPolicy& policy, base::TimePoint now, const GateVerdict& gates) {
  const std::string& name = policy.meta.name;
  if (policy.meta.is_terminating())
    return fmt::format("policy {} is being deleted: its Evacuations are not admitted", name);
  if (policy.spec.suspend) return fmt::format("policy {} is suspended: its Evacuations are not admitted", name);
  if (policy.spec.mode == api::PolicyMode::kDryRun)
    return fmt::format("policy {} is in mode DryRun: its Evacuations are not admitted", name);
  if (policy.status.circuit.opened_at)
    return fmt::format("the circuit breaker of policy {} is open: its Evacuations are not admitted", name);
  if (policy.holds_are_unknown)
    return fmt::format(
        "the spec of policy {}, with its blackouts and gates, cannot be read: its Evacuations are not admitted", name);
  if (std::string blackout = blackout_of(policy, now); !blackout.empty()) return blackout;
  if (gates.stops()) return fmt::format("{}: Evacuations of policy {} are not admitted", gates.text, name);
  return {};
}

}  // namespace

LimitsInForce PolicyLimitsInForce::take(const ObservedPolicy& policy, base::TimePoint now, const GateVerdict& gates) {
  const std::string& name = policy.meta.name;
  if (policy.limits_are_readable) {
    last_read_[name] = api::admission_limits(policy.spec.limits);
  } else if (!last_read_.contains(name)) {
    return {{}, fmt::format("the limits of policy {} cannot be read: {}", name, policy.spec_problem)};
  }
  return {last_read_.at(name), hold_reason_of(policy, now, gates)};
}

}  // namespace controllers
