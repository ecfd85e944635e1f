#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/webhooks/validation/creator_change.hpp"
#include "controllers/webhooks/validation/object_checks.hpp"

namespace controllers::validation {

/// Answers the API server about our own objects: whether they make sense, and who made them. Thread-safe.
class Webhook {
 public:
  struct Dependencies {
    const evictors::EvictorRegistry& registry;
    KeySource& keys;
    const base::Clock& clock;            ///< the wall clock
    std::function<Surroundings()> look;  ///< called for each policy that is written, by any thread
    base::Metrics& metrics;
    base::Log log;
  };
  /// All references must outlive it.
  explicit Webhook(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// The body of an answer 200 to a body; nullopt: that was no AdmissionReview that can be answered. What is about
  /// other objects is allowed.
  std::optional<std::string> validate(std::string_view body);
  /// Refused while there is no key: who made an object has to be known.
  std::optional<std::string> record_creator(std::string_view body);

 private:
  Opinion opinion_of(const webhooks::AdmissionReview& review) const;
  base::Result<CreatorChange> change_of(const webhooks::AdmissionReview& review) const;
  std::optional<webhooks::AdmissionReview> parse(std::string_view body, const char* webhook);
  void count(const char* webhook, const char* result);

  const Dependencies deps_;
};

}  // namespace controllers::validation
