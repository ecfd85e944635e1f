#include "controllers/placement/review.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"

namespace controllers::placement {
namespace {

using api::Json;

constexpr std::string_view kVersion = "admission.k8s.io/v1";
constexpr std::size_t kLongestUid = 128;

/// The one that says it is the controller; the first, should several say so.
api::OwnerReference controller_of(const Json& pod) {
  for (const Json& owner : api::items_at(pod, {"metadata", "ownerReferences"})) {
    if (api::flag_at(owner, {"controller"}))
      return {api::text_at(owner, {"apiVersion"}), api::text_at(owner, {"kind"}), api::text_at(owner, {"name"}),
              api::text_at(owner, {"uid"}), true};
  }
  return {};
}

/// Pods themselves, not their subresources.
bool creates_pod(const Json& request) {
  return api::text_at(request, {"operation"}) == "CREATE" && api::text_at(request, {"resource", "group"}).empty() &&
         api::text_at(request, {"resource", "resource"}) == "pods" && api::text_at(request, {"subResource"}).empty();
}

}  // namespace

base::Result<PodReview> parse_review(std::string_view body) {
  auto review = api::parse_json(body);
  if (!review) return review.error();
  const Json* request = api::find_at(*review, {"request"});
  if (api::text_at(*review, {"apiVersion"}) != kVersion || request == nullptr || !request->is_object())
    return base::invalid("no AdmissionReview of admission.k8s.io/v1 with a request");
  PodReview asked;
  asked.uid = api::text_at(*request, {"uid"});
  if (asked.uid.empty() || asked.uid.size() > kLongestUid) return base::invalid("request.uid is missing or too long");
  asked.dry_run = api::flag_at(*request, {"dryRun"});
  const auto pod = request->find("object");
  if (!creates_pod(*request) || pod == request->end() || !pod->is_object()) return asked;
  asked.creates_pod = true;
  asked.ns = api::text_at(*request, {"namespace"});
  asked.pod_name = api::text_at(*pod, {"metadata", "name"});
  asked.owner = controller_of(*pod);
  asked.pod = std::move((*review)["request"]["object"]);
  return asked;
}

std::string allow(std::string_view uid, const Json& patch) {
  Json response = {{"uid", uid}, {"allowed", true}};
  if (patch.is_array() && !patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base::encode_base64(api::to_json_text(patch));
  }
  const Json review = {
      {"apiVersion", std::string(kVersion)}, {"kind", "AdmissionReview"}, {"response", std::move(response)}};
  return api::to_json_text(review);
}

}  // namespace controllers::placement
