#include "controllers/webhooks/admission_review.hpp"

#include "api/json/json_access.hpp"
#include "base/base64.hpp"

namespace controllers::webhooks {
namespace {

using api::Json;

constexpr std::string_view kVersion = "admission.k8s.io/v1";
constexpr std::size_t kMaxUid = 128;

Json object_in(Json& request, const char* name) {
  const auto at = request.find(name);
  return at != request.end() && at->is_object() ? std::move(*at) : Json();
}

std::string answer(Json response) {
  const Json review = {
      {"apiVersion", std::string(kVersion)}, {"kind", "AdmissionReview"}, {"response", std::move(response)}};
  return api::to_json_text(review);
}

/// Cuts `text` at a character boundary, to at most `most` bytes.
std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

}  // namespace

bool is_review_shaped(std::string_view body) {
  const auto start = body.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || body[start] != '{' || body.find(kVersion) == std::string_view::npos)
    return false;
  std::size_t elements = 0;
  bool in_text = false;
  for (std::size_t i = start; i < body.size(); ++i) {
    if (body[i] == '"') in_text = !in_text;
    if (body[i] == '\\' && in_text) ++i;
    if (!in_text && (body[i] == ',' || body[i] == '[' || body[i] == '{')) ++elements;
  }
  return elements <= kMaxReviewElements;
}

base::Result<AdmissionReview> parse_admission_review(std::string_view body) {
  if (!is_review_shaped(body))
    return base::invalid("not an AdmissionReview of admission.k8s.io/v1, or too many elements");
  auto review = api::parse_json(body);
  if (!review) return review.error();
  const auto request = review->find("request");  // end() if it is not an object
  if (request == review->end() || !request->is_object() || api::text_at(*review, {"apiVersion"}) != kVersion)
    return base::invalid("not an AdmissionReview of admission.k8s.io/v1 with a request");
  AdmissionReview asked;
  asked.uid = api::text_at(*request, {"uid"});
  if (asked.uid.empty() || asked.uid.size() > kMaxUid) return base::invalid("request.uid is missing or too long");
  asked.operation = api::text_at(*request, {"operation"});
  asked.group = api::text_at(*request, {"resource", "group"});
  asked.resource = api::text_at(*request, {"resource", "resource"});
  asked.subresource = api::text_at(*request, {"subResource"});
  asked.ns = api::text_at(*request, {"namespace"});
  asked.dry_run = api::flag_at(*request, {"dryRun"});
  asked.user = object_in(*request, "userInfo");
  asked.object = object_in(*request, "object");
  asked.old_object = object_in(*request, "oldObject");
  return asked;
}

std::string allow(std::string_view uid, const Json& patch, const std::vector<std::string>& warnings) {
  Json response = {{"uid", uid}, {"allowed", true}};
  if (patch.is_array() && !patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base::encode_base64(api::to_json_text(patch));
  }
  for (const std::string& each : warnings) response["warnings"].push_back(cut(each, kMaxWarning));
  return answer(std::move(response));
}

std::string deny(std::string_view uid, const Denial& denial) {
  const Json status = {{"code", denial.code}, {"reason", denial.reason}, {"message", cut(denial.message, kMaxMessage)}};
  return answer({{"uid", uid}, {"allowed", false}, {"status", status}});
}

}  // namespace controllers::webhooks
