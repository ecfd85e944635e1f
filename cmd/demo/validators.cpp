#include "cmd/demo/validators.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "controllers/spec_problems.hpp"
#include "evictors/registry.hpp"

namespace cmd {
namespace {

api::FieldErrors validate_policy(const api::Json*, const api::Json& after) {
  const auto policy = api::decode_descheduler_policy(after);
  if (!policy) return {{"", policy.error().message}};
  return controllers::problems_of(policy->spec, evictors::EvictorRegistry::builtin());
}

const api::Json& spec_of(const api::Json& object) {
  static const api::Json kNone;
  const auto spec = object.find("spec");
  return spec == object.end() ? kNone : *spec;
}

api::FieldErrors validate_evacuation(const api::Json* before, const api::Json& after) {
  const auto evacuation = api::decode_evacuation(after);
  if (!evacuation) return {{"", evacuation.error().message}};
  api::FieldErrors errors = controllers::problems_of(evacuation->spec, evictors::EvictorRegistry::builtin());
  if (!before || spec_of(*before) == spec_of(after)) return errors;
  if (const auto old = api::decode_evacuation(*before))
    std::ranges::move(api::validate_update(old->spec, evacuation->spec), std::back_inserter(errors));
  return errors;
}

}  // namespace

void add_validators(simulator::ApiServer& server) {
  server.add_validator(kube::kPolicies, validate_policy);
  server.add_validator(kube::kEvacuations, validate_evacuation);
}

}  // namespace cmd
