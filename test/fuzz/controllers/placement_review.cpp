/// Any text as an AdmissionReview of a new pod: no crash, every answer allows the pod, and the patch of every hint
/// applies, is limited in size, and keeps existing fields.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/base64.hpp"
#include "controllers/webhooks/admission_review.hpp"
#include "controllers/webhooks/placement/affinity_patch.hpp"
#include "controllers/webhooks/placement/review.hpp"

using namespace nlohmann::literals;

namespace {

namespace placement = controllers::placement;
using api::Json;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const placement::PodReview& review, api::PlacementPolicy policy) {
  const Json patch = placement::hint_patch(review.pod, {{"node-b"}, policy, base::seconds(60)}, "mark");
  require(patch.size() <= placement::kMaxNodeTerms + 1);
  const Json after = review.pod.patch(patch);  // Throws if the patch does not apply
  require(patch.empty() == (after == review.pod));
  if (review.pod.contains("/spec/containers"_json_pointer))
    require(after["spec"]["containers"] == review.pod["spec"]["containers"]);
  const Json answer = Json::parse(controllers::webhooks::allow(review.uid, patch));
  require(answer["response"]["allowed"] == true);
  require(answer["response"].contains("patch") == !patch.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto review = placement::parse_review({reinterpret_cast<const char*>(data), size});
  if (!review) return 0;
  require(!review->uid.empty());
  if (!review->creates_pod) return 0;
  require(review->pod.is_object());
  check(*review, api::PlacementPolicy::kPreferred);
  check(*review, api::PlacementPolicy::kRequired);
  return 0;
}
