#include "controllers/webhooks/placement/review.hpp"

#include "api/json/json_access.hpp"
#include "controllers/webhooks/admission_review.hpp"

namespace controllers::placement {
namespace {

using api::Json;

/// Returns the owner marked as controller; the first one if several are.
api::OwnerReference controller_of(const Json& pod) {
  for (const Json& owner : api::items_at(pod, {"metadata", "ownerReferences"})) {
    if (api::flag_at(owner, {"controller"}))
      return {api::text_at(owner, {"apiVersion"}), api::text_at(owner, {"kind"}), api::text_at(owner, {"name"}),
              api::text_at(owner, {"uid"}), true};
  }
  return {};
}

}  // namespace

base::Result<PodReview> parse_review(std::string_view body) {
  auto review = webhooks::parse_admission_review(body);
  if (!review) return review.error();
  PodReview asked;
  asked.uid = std::move(review->uid);
  asked.dry_run = review->dry_run;
  if (review->operation != "CREATE" || !review->is_about("", "pods") || !review->object.is_object()) return asked;
  asked.creates_pod = true;
  asked.ns = std::move(review->ns);
  asked.pod_name = api::text_at(review->object, {"metadata", "name"});
  asked.owner = controller_of(review->object);
  asked.pod = std::move(review->object);
  return asked;
}

}  // namespace controllers::placement
