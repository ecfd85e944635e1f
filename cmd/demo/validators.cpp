#include "cmd/demo/validators.hpp"

#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "controllers/evacuation/spec_problems.hpp"
#include "controllers/policy/spec_problems.hpp"
#include "evictors/registry.hpp"

namespace cmd {
namespace {

api::FieldErrors validate_policy(const api::Json*, const api::Json& after) {
  const auto policy = api::decode_descheduler_policy(after);
  if (!policy) return {{"", policy.error().message}};
  return controllers::problems_of(policy->spec, evictors::EvictorRegistry::builtin());
}

api::FieldErrors validate_evacuation(const api::Json*, const api::Json& after) {
  const auto evacuation = api::decode_evacuation(after);
  if (!evacuation) return {{"", evacuation.error().message}};
  return controllers::problems_of(evacuation->spec, evictors::EvictorRegistry::builtin());
}

}  // namespace

void add_validators(simulator::ApiServer& server) {
  server.add_validator(kube::kPolicies, validate_policy);
  server.add_validator(kube::kEvacuations, validate_evacuation);
}

}  // namespace cmd
