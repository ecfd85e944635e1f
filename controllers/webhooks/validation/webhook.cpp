#include "controllers/webhooks/validation/webhook.hpp"

#include "kube/resource.hpp"

namespace controllers::validation {

using base::kv;
using webhooks::AdmissionReview;

namespace {

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
  if (review.resource == kube::kPolicies.plural) return check_policy(review, deps_.registry, deps_.look());
  return check_evacuation(review, deps_.registry);
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
