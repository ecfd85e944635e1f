#pragma once

/// What is said of our objects before they are stored. Pure.

#include <string>
#include <vector>

#include "controllers/webhooks/admission_review.hpp"
#include "controllers/webhooks/validation/risks.hpp"
#include "evictors/registry.hpp"

namespace controllers::validation {

struct Opinion {
  std::string problem;                  ///< why it is refused: each field with what is wrong; empty: it is not
  std::vector<std::string> warnings{};  ///< that kubectl prints
};

/// A write that changes nothing that is checked, or touches what is being deleted, is never refused: an object that
/// older rules let through can still be labelled, suspended, cancelled, finished and removed.
Opinion check_policy(const webhooks::AdmissionReview& review, const evictors::EvictorRegistry& registry,
                     const Surroundings& surroundings);
Opinion check_evacuation(const webhooks::AdmissionReview& review, const evictors::EvictorRegistry& registry);

}  // namespace controllers::validation
