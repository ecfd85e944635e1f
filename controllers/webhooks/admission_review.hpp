#pragma once

/// AdmissionReviews (admission.k8s.io/v1) that the API server sends to a webhook, and the responses. Pure. Treat their
/// content as untrusted: any user with write access to the objects may have written it.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"

namespace controllers::webhooks {

/// Request part of an AdmissionReview.
struct AdmissionReview {
  std::string uid;        ///< UID of the request, repeated in the response
  std::string operation;  ///< CREATE, UPDATE, DELETE, CONNECT
  std::string group, resource, subresource;
  std::string ns;
  api::Json user;        ///< UserInfo of the requester, authenticated by the API server; an object, or null
  api::Json object;      ///< An object, or null
  api::Json old_object;  ///< An object, or null
  bool dry_run = false;

  /// Returns whether the request is for an object of this kind itself, not for a subresource.
  bool is_about(std::string_view its_group, std::string_view its_resource) const {
    return group == its_group && resource == its_resource && subresource.empty();
  }
};

/// Maximum number of members and items, to bound the cost of parsing. An object of kMaxReviewBytes has fewer.
inline constexpr std::size_t kMaxReviewElements = 40'000;
/// Cheap check before parsing. True for every AdmissionReview of an API server with at most kMaxReviewElements.
bool is_review_shaped(std::string_view body);

/// Returns kInvalid with the cause: no JSON, no AdmissionReview, or no UID to respond to.
base::Result<AdmissionReview> parse_admission_review(std::string_view body);

/// Response "allowed" with `patch` (JSON patch, may be empty or null) and the warnings that kubectl prints. Each
/// warning is cut to kMaxWarning bytes, because the API server would cut it in the middle of a character.
std::string allow(std::string_view uid, const api::Json& patch, const std::vector<std::string>& warnings = {});
inline constexpr std::size_t kMaxWarning = 256;

/// Reason for a denial. kubectl shows the message after `admission webhook "…" denied the request: `. The message is
/// cut to kMaxMessage bytes.
struct Denial {
  std::string message;
  int code = 422;
  std::string reason = "Invalid";
};
std::string deny(std::string_view uid, const Denial& denial);
inline constexpr std::size_t kMaxMessage = 4096;

}  // namespace controllers::webhooks
