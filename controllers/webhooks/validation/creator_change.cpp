#include "controllers/webhooks/validation/creator_change.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "api/evacuation.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/evacuation/origin/creator.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"
#include "kube/resource.hpp"

namespace controllers::validation {
namespace {

using api::Json;
using webhooks::AdmissionReview;
namespace names = api::well_known;

/// Returns the record in the annotation, or nullopt.
std::optional<std::string> record_in(const Json& object) {
  const Json* value = api::find_at(object, {"metadata", "annotations", names::kCreatorAnnotation});
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

/// Returns a patch that sets the record of `object` to `wanted`, or removes it if nullopt.
Json record_patch(const Json& object, const std::optional<std::string>& wanted) {
  const Json* meta = api::find_at(object, {"metadata"});
  if (meta == nullptr || !meta->is_object() || record_in(object) == wanted) return Json::array();
  const std::string path = "/metadata/annotations/evacuator.dev~1creator";
  if (!wanted) return Json::array({{{"op", "remove"}, {"path", path}}});
  const Json* annotations = api::find_at(object, {"metadata", "annotations"});
  if (annotations != nullptr && annotations->is_object())
    return Json::array({{{"op", "add"}, {"path", path}, {"value", *wanted}}});
  const Json only = {{std::string(names::kCreatorAnnotation), *wanted}};
  return Json::array({{{"op", "add"}, {"path", "/metadata/annotations"}, {"value", only}}});
}

constexpr const char* kNotYours =
    "metadata.annotations[evacuator.dev/creator]: may be set only by the operator's webhook";

CreatorChange change_to(const Json& object, const std::optional<std::string>& wanted) {
  CreatorChange change{record_patch(object, wanted)};
  if (!change.patch.empty() && record_in(object)) change.warnings.emplace_back(kNotYours);
  return change;
}

/// Returns the hash of the spec; empty if the spec is invalid. The record then still contains the requester.
std::string hash_of(const AdmissionReview& review) {
  if (review.resource != kube::kEvacuations.plural) return {};
  const auto evacuation = api::decode_evacuation(review.object);
  return evacuation && evacuation->spec_problem.empty() ? spec_hash(evacuation->spec) : std::string();
}

}  // namespace

base::Result<CreatorChange> record_new(const AdmissionReview& review, const crypto::Key& key, base::TimePoint now) {
  const auto subject = subject_of(review.user);
  if (!subject) return subject.error();
  const auto& type = review.resource == kube::kEvacuations.plural ? kube::kEvacuations : kube::kPolicies;
  const NewObject object{std::string(type.kind), review.ns, api::text_at(review.object, {"metadata", "name"}),
                         api::text_at(review.object, {"metadata", "generateName"}), hash_of(review)};
  return change_to(review.object, creator_record(*subject, object, key, now));
}

CreatorChange keep_record(const AdmissionReview& review) {
  return change_to(review.object, record_in(review.old_object));
}

}  // namespace controllers::validation
