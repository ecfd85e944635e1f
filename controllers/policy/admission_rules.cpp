#include "controllers/policy/admission_rules.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "api/origin.hpp"
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

LimitsInForce AdmissionRules::take(const ObservedPolicy& policy) {
  return in_force_.take(policy, deps_.clock.now(), deps_.gates(policy.meta.name));
}

void AdmissionRules::follow(const ObservedPolicy& policy) {
  const std::scoped_lock lock(mutex_);
  const LimitsInForce now = take(policy);
  deps_.admission.set_policy_limits(policy.meta.name, now.limits, now.hold_reason);
  hold_reasons_[policy.meta.name] = now.hold_reason;
  deps_.admission.restore_cooldowns(policy.meta.name, policy.status.cooldowns);
}

void AdmissionRules::forget(const std::string& policy) {
  const std::scoped_lock lock(mutex_);
  in_force_.forget(policy);
  deps_.admission.set_policy_limits(policy, std::nullopt);
  hold_reasons_.erase(policy);
}

void AdmissionRules::follow_time() {
  for (const auto& listed : deps_.policies.list()) {
    if (listed->spec.schedule.blackouts.empty() && listed->spec.gates.empty()) continue;
    const std::scoped_lock lock(mutex_);
    const auto policy = deps_.policies.get(listed->meta.key());
    if (!policy) continue;
    const LimitsInForce now = take(*policy);
    if (std::exchange(hold_reasons_[policy->meta.name], now.hold_reason) == now.hold_reason) continue;
    deps_.admission.set_policy_limits(policy->meta.name, now.limits, now.hold_reason);
  }
}

void AdmissionRules::hold_without_policy(const api::Evacuation& evacuation) {
  const std::string& policy = api::policy_of(evacuation);
  if (policy.empty()) return;
  const std::scoped_lock lock(mutex_);  // a concurrent follow() of the policy then takes effect after this call
  if (!deps_.policies.get({"", policy})) deps_.admission.set_policy_limits(policy, std::nullopt);
}

}  // namespace controllers
