#include "controllers/policy/admission_rules.hpp"

#include <optional>
#include <utility>

#include "api/origin.hpp"

namespace controllers {

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
