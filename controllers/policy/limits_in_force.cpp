#include "controllers/policy/limits_in_force.hpp"

#include <fmt/format.h>

namespace controllers {
namespace {

/// Empty: nothing holds it up.
std::string brake_of(const ObservedPolicy& policy) {
  const std::string& name = policy.meta.name;
  if (policy.spec.suspend) return fmt::format("policy {} is suspended: nothing more of it is admitted", name);
  if (policy.spec.mode == api::PolicyMode::kDryRun)
    return fmt::format("policy {} is in mode DryRun: nothing more of it is admitted", name);
  if (policy.status.circuit.opened_at)
    return fmt::format("the circuit breaker of policy {} is open: nothing more of it is admitted", name);
  return {};
}

}  // namespace

LimitsInForce PolicyLimitsInForce::take(const ObservedPolicy& policy) {
  const std::string& name = policy.meta.name;
  if (policy.limits_are_readable) {
    last_read_[name] = api::admission_limits(policy.spec.limits);
  } else if (!last_read_.contains(name)) {
    return {{}, fmt::format("the limits of policy {} cannot be read: {}", name, policy.spec_problem)};
  }
  return {last_read_.at(name), brake_of(policy)};
}

}  // namespace controllers
