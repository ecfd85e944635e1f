#include "cmd/admission.hpp"

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "evictors/registry.hpp"
#include "strategies/catalog.hpp"

namespace cmd {
namespace {

void append(api::FieldErrors& errors, const api::FieldErrors& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

api::FieldErrors validate_policy(const api::Json*, const api::Json& after) {
  const auto policy = api::decode_descheduler_policy(after);
  if (!policy) return {{"", policy.error().message}};
  const auto registry = evictors::Registry::builtin();
  api::FieldErrors errors = api::validate(policy->spec, registry.names());
  append(errors, strategies::validate(policy->spec.strategies));
  append(errors, registry.validate(policy->spec.evacuation.evictors, api::FieldPath("spec.evacuation.evictors")));
  return errors;
}

api::FieldErrors validate_evacuation(const api::Json* before, const api::Json& after) {
  const auto evacuation = api::decode_evacuation(after);
  if (!evacuation) return {{"", evacuation.error().message}};
  const auto registry = evictors::Registry::builtin();
  api::FieldErrors errors = api::validate(evacuation->spec, registry.names());
  append(errors, registry.validate(evacuation->spec.evictors, api::FieldPath("spec.evictors")));
  if (!before) return errors;
  if (const auto old = api::decode_evacuation(*before))
    append(errors, api::validate_update(old->spec, evacuation->spec));
  return errors;
}

}  // namespace

void add_validators(simulator::ApiServer& server) {
  server.add_validator(kube::kPolicies, validate_policy);
  server.add_validator(kube::kEvacuations, validate_evacuation);
}

}  // namespace cmd
