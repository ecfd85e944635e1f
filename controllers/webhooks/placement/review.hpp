#pragma once

/// AdmissionReviews of new pods. Pure. Their content is untrusted: any user who may create pods may have written it.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/result.hpp"

namespace controllers::placement {

/// Review request of the placement webhook for one new pod.
struct PodReview {
  std::string uid;  ///< UID of the request, repeated in the response
  std::string ns;
  std::string pod_name;       ///< Empty while the server has yet to generate it from generateName
  api::OwnerReference owner;  ///< Controller of the pod; its UID is empty if there is none
  bool dry_run = false;
  bool creates_pod = false;  ///< False if the request is for anything else, which the webhook allows unchanged
  api::Json pod;             ///< An object if creates_pod
};

/// Returns kInvalid with the cause: no JSON, no AdmissionReview, or no UID to respond to.
base::Result<PodReview> parse_review(std::string_view body);

}  // namespace controllers::placement
