#include "controllers/webhooks/validation/webhook.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "controllers/evacuation/spec_problems.hpp"
#include "controllers/policy/spec_problems.hpp"
#include "controllers/webhooks/validation/creator_change.hpp"
#include "kube/resource.hpp"

namespace controllers::validation {

using base::kv;
using webhooks::AdmissionReview;

namespace {

using api::Json;

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

constexpr const char* kValidate = "validate";
constexpr const char* kRecordCreator = "record-creator";

/// Returns whether a DeschedulerPolicy or Evacuation is created or updated.
bool is_ours(const AdmissionReview& review) {
  const bool is_known = review.is_about(kube::kPolicies.group, kube::kPolicies.plural) ||
                        review.is_about(kube::kEvacuations.group, kube::kEvacuations.plural);
  return is_known && review.object.is_object();
}

}  // namespace

Verdict Webhook::check(const AdmissionReview& review) const {
  if (!is_ours(review)) return {};
  if (review.resource != kube::kPolicies.plural) {
    if (is_let_through(review, {"suspend", "priority", "cancel"})) return {};
    const auto evacuation = api::decode_evacuation(review.object);
    return {evacuation ? text_of(problems_of(evacuation->spec, deps_.registry)) : evacuation.error().message};
  }
  if (is_let_through(review, {"suspend"})) return {};
  const auto policy = api::decode_descheduler_policy(review.object);
  if (!policy) return {policy.error().message};
  Verdict opinion{text_of(problems_of(policy->spec, deps_.registry))};
  if (opinion.problem.empty()) opinion.warnings = risks_of(policy->meta.name, policy->spec, deps_.look());
  return opinion;
}

std::optional<std::string> Webhook::validate(std::string_view body) {
  const auto review = parse(body, kValidate);
  if (!review) return std::nullopt;
  const Verdict opinion = check(*review);
  count(kValidate, opinion.problem.empty() ? "allowed" : "denied");
  if (opinion.problem.empty()) return webhooks::allow(review->uid, nullptr, opinion.warnings);
  return webhooks::deny(review->uid, {opinion.problem});
}

base::Result<CreatorChange> Webhook::change_of(const AdmissionReview& review) const {
  if (!is_ours(review)) return CreatorChange{};
  if (review.operation != "CREATE") return keep_record(review);
  const auto keys = deps_.keys.keys();
  if (!keys) return base::unavailable("the operator has no key yet to sign the creator of the object: try again");
  return record_new(review, keys->current, deps_.clock.now());
}

std::optional<std::string> Webhook::record_creator(std::string_view body) {
  const auto review = parse(body, kRecordCreator);
  if (!review) return std::nullopt;
  const auto change = change_of(*review);
  count(kRecordCreator, change ? "allowed" : "denied");
  if (change) return webhooks::allow(review->uid, change->patch, change->warnings);
  const bool may_try_again = change.error().code == base::ErrorCode::kUnavailable;
  return webhooks::deny(review->uid, may_try_again ? webhooks::Denial{change.error().message, 503, "ServiceUnavailable"}
                                                   : webhooks::Denial{change.error().message, 403, "Forbidden"});
}

std::optional<AdmissionReview> Webhook::parse(std::string_view body, const char* webhook) {
  auto review = webhooks::parse_admission_review(body);
  if (review) return *std::move(review);
  deps_.log.debug("an AdmissionReview could not be read", {kv("webhook", webhook), kv("error", review.error())});
  count(webhook, "invalid");
  return std::nullopt;
}

void Webhook::count(const char* webhook, const char* result) {
  deps_.metrics
      .counter("evacuator_admission_reviews_total",
               "Number of policies and Evacuations in requests to the admission webhooks, by webhook and result.",
               {{"webhook", webhook}, {"result", result}})
      .increment();
}

}  // namespace controllers::validation
