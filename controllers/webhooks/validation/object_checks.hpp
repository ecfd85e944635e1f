#pragma once

/// Checks of Evacuator's own objects before they are stored. Pure.

#include <string>
#include <vector>

#include "controllers/webhooks/admission_review.hpp"
#include "controllers/webhooks/validation/risks.hpp"
#include "evictors/registry.hpp"

namespace controllers::validation {

struct Verdict {
  std::string problem;                  ///< Reason for the denial, with the invalid fields; empty if allowed
  std::vector<std::string> warnings{};  ///< Warnings that kubectl prints
};

/// Writes that change no checked field, and writes to objects being deleted, are always allowed. Objects accepted by
/// older rules can therefore still be labelled, suspended, cancelled, finished and removed.
Verdict check_policy(const webhooks::AdmissionReview& review, const evictors::EvictorRegistry& registry,
                     const ClusterContext& surroundings);
Verdict check_evacuation(const webhooks::AdmissionReview& review, const evictors::EvictorRegistry& registry);

}  // namespace controllers::validation
