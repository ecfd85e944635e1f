#pragma once

/// Who made an object is written on it. Pure.

#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "base/result.hpp"
#include "controllers/webhooks/admission_review.hpp"

namespace controllers::validation {

/// The annotation evacuator.dev/creator as it has to be, whatever was sent.
struct CreatorChange {
  api::Json patch;                      ///< JSON patch; empty: it is as it has to be
  std::vector<std::string> warnings{};  ///< of a value that was sent and does not count
};
/// Of a new object: the signed record of who makes it (controllers/evacuation/origin/creator.hpp). kInvalid: nobody can
/// tell.
base::Result<CreatorChange> record_new(const webhooks::AdmissionReview& review, const signing::Key& key,
                                       base::TimePoint now);
/// Of an update: what it was.
CreatorChange keep_record(const webhooks::AdmissionReview& review);

}  // namespace controllers::validation
