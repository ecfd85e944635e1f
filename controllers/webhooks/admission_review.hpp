#pragma once

/// AdmissionReviews (admission.k8s.io/v1) as the API server sends them to a webhook, and the answers. Pure; whatever
/// they hold was written by somebody who may write such objects.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"

namespace controllers::webhooks {

/// What the API server asks.
struct AdmissionReview {
  std::string uid;        ///< of the request: the answer has to name it
  std::string operation;  ///< CREATE, UPDATE, DELETE, CONNECT
  std::string group, resource, subresource;
  std::string ns;
  api::Json user;        ///< userInfo: who asks, as the API server has authenticated it; an object, or null
  api::Json object;      ///< an object, or null
  api::Json old_object;  ///< likewise
  bool dry_run = false;

  /// About objects of that kind themselves, not their subresources.
  bool is_about(std::string_view its_group, std::string_view its_resource) const {
    return group == its_group && resource == its_resource && subresource.empty();
  }
};

/// More members and items than an honest object of kMaxReviewBytes has. Parsing is what they cost.
inline constexpr std::size_t kMaxReviewElements = 40'000;
/// Cheap: whether `body` is worth parsing. Every AdmissionReview of an API server is, up to kMaxReviewElements.
bool is_review_shaped(std::string_view body);

/// kInvalid says what is wrong: no JSON, no review, no UID to answer to.
base::Result<AdmissionReview> parse_admission_review(std::string_view body);

/// "allowed", with `patch` (JSON patch; empty or null: none) and what kubectl prints as warnings, each cut to
/// kMaxWarning: the API server would cut them itself, in the middle of a character.
std::string allow(std::string_view uid, const api::Json& patch, const std::vector<std::string>& warnings = {});
inline constexpr std::size_t kMaxWarning = 256;

/// Why something is refused. The message follows `admission webhook "…" denied the request: `, cut to kMaxMessage.
struct Denial {
  std::string message;
  int code = 422;
  std::string reason = "Invalid";
};
std::string deny(std::string_view uid, const Denial& denial);
inline constexpr std::size_t kMaxMessage = 4096;

}  // namespace controllers::webhooks
