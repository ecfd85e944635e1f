/// Any text as an AdmissionReview: no crash. An accepted review can be answered. The record of the creator fits into an
/// annotation, its patch applies and changes nothing else, and the recorded creator can be verified.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/evacuation.hpp"
#include "controllers/evacuation/origin/creator.hpp"
#include "controllers/webhooks/admission_review.hpp"
#include "controllers/webhooks/validation/creator_change.hpp"

namespace {

using api::Json;
using controllers::webhooks::AdmissionReview;

constexpr std::size_t kMaxAnnotation = 64 * 1024;
const base::TimePoint kNow = *base::parse_time("2026-11-21T12:00:00Z");

void require(bool holds) {
  if (!holds) std::abort();
}

const crypto::KeyRing& keys() {
  static const crypto::KeyRing kKeys{*crypto::Key::from_bytes(std::string(crypto::Key::kBytes, 'k'))};
  return kKeys;
}

Json without_record(Json object) {
  if (!object["metadata"].is_object() || !object["metadata"]["annotations"].is_object()) return object;
  object["metadata"]["annotations"].erase("evacuator.dev/creator");
  if (object["metadata"]["annotations"].empty()) object["metadata"].erase("annotations");
  return object;
}

/// Returns the object as it is stored afterwards.
Json changed(const Json& object, const controllers::validation::CreatorChange& change) {
  const Json after = change.patch.is_array() ? object.patch(change.patch) : object;  // throws if it does not apply
  return after;
}

void check_new(const AdmissionReview& review) {
  const auto change = controllers::validation::record_new(review, keys().current, kNow);
  if (!change) return;
  Json after = changed(review.object, *change);
  if (!review.object.contains("metadata") || !review.object["metadata"].is_object()) return;
  const std::string record = after["metadata"]["annotations"]["evacuator.dev/creator"];
  require(record.size() <= kMaxAnnotation);
  const auto evacuation = api::decode_evacuation(after);
  if (!evacuation || review.resource != "evacuations" || evacuation->meta.ns != review.ns) return;
  if (evacuation->meta.name.empty() || !evacuation->spec_problem.empty()) return;
  auto made = *evacuation;
  made.meta.creation_timestamp = kNow;
  require(controllers::proven_creator(made, keys()).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto review = controllers::webhooks::parse_admission_review({reinterpret_cast<const char*>(data), size});
  if (!review) return 0;
  require(!review->uid.empty());
  const Json allowed = Json::parse(controllers::webhooks::allow(review->uid, nullptr, {review->operation}));
  require(allowed["response"]["allowed"] == true);
  const Json denied = Json::parse(controllers::webhooks::deny(review->uid, {review->ns}));
  require(denied["response"]["allowed"] == false);
  if (!review->object.is_object()) return 0;
  check_new(*review);
  const auto kept = controllers::validation::keep_record(*review);
  if (review->object.contains("metadata"))
    require(without_record(changed(review->object, kept)) == without_record(review->object));
  return 0;
}
