#include "controllers/webhooks/validation/object_checks.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "controllers/evacuation/spec_problems.hpp"
#include "controllers/policy/spec_problems.hpp"

namespace controllers::validation {
namespace {

using api::Json;
using webhooks::AdmissionReview;

/// Returns the spec without the fields that users change to pause or end an operation.
Json checked_part(const Json& object, std::initializer_list<const char*> unchecked) {
  const Json* spec = api::find_at(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return spec != nullptr ? *spec : Json();
  Json rest = *spec;
  for (const char* each : unchecked) rest.erase(each);
  return rest;
}

bool is_let_through(const AdmissionReview& review, std::initializer_list<const char*> unchecked) {
  if (!review.old_object.is_object()) return false;
  // The stored object decides, because a client can send any deletionTimestamp in a creation.
  return api::find_at(review.old_object, {"metadata", "deletionTimestamp"}) != nullptr ||
         checked_part(review.object, unchecked) == checked_part(review.old_object, unchecked);
}

std::string text_of(const api::FieldErrors& errors) { return errors.empty() ? "" : api::to_error(errors).message; }

}  // namespace

Verdict check_policy(const AdmissionReview& review, const evictors::EvictorRegistry& registry,
                     const ClusterContext& surroundings) {
  if (is_let_through(review, {"suspend"})) return {};
  const auto policy = api::decode_descheduler_policy(review.object);
  if (!policy) return {policy.error().message};
  Verdict opinion{text_of(problems_of(policy->spec, registry))};
  if (opinion.problem.empty()) opinion.warnings = risks_of(policy->meta.name, policy->spec, surroundings);
  return opinion;
}

Verdict check_evacuation(const AdmissionReview& review, const evictors::EvictorRegistry& registry) {
  if (is_let_through(review, {"suspend", "priority", "cancel"})) return {};
  const auto evacuation = api::decode_evacuation(review.object);
  if (!evacuation) return {evacuation.error().message};
  return {text_of(problems_of(evacuation->spec, registry))};
}

}  // namespace controllers::validation
