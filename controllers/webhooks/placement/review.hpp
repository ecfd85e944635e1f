#pragma once

/// AdmissionReviews about new pods. Pure; whatever they hold was written by somebody who may create pods.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/result.hpp"

namespace controllers::placement {

/// What the placement webhook is asked about one new pod.
struct PodReview {
  std::string uid;  ///< of the request: the answer has to name it
  std::string ns;
  std::string pod_name;       ///< "" while the server has still to make one from generateName
  api::OwnerReference owner;  ///< the pod's controller; its UID is empty when there is none
  bool dry_run = false;
  bool creates_pod = false;  ///< false: about something else, which is none of the webhook's business
  api::Json pod;             ///< an object when creates_pod
};

/// kInvalid says what is wrong: no JSON, no review, no UID to answer to.
base::Result<PodReview> parse_review(std::string_view body);

}  // namespace controllers::placement
