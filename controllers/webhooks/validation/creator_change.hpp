#pragma once

/// Record of an object's creator in an annotation. Pure.

#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "base/result.hpp"
#include "controllers/webhooks/admission_review.hpp"

namespace controllers::validation {

/// Change that sets the annotation evacuator.dev/creator to its only valid value.
struct CreatorChange {
  api::Json patch;                      ///< JSON patch; empty if the annotation is already correct
  std::vector<std::string> warnings{};  ///< Warnings about a submitted value that is ignored
};
/// For a new object: sets the signed record of the requester (controllers/evacuation/origin/creator.hpp). Returns
/// kInvalid if the requester cannot be determined.
base::Result<CreatorChange> record_new(const webhooks::AdmissionReview& review, const crypto::Key& key,
                                       base::TimePoint now);
/// For an update: restores the previous value.
CreatorChange keep_record(const webhooks::AdmissionReview& review);

}  // namespace controllers::validation
