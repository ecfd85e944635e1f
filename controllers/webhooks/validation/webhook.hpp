#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/webhooks/admission_review.hpp"
#include "controllers/webhooks/validation/risks.hpp"
#include "evictors/registry.hpp"

namespace controllers::validation {

struct CreatorChange;

struct Verdict {
  std::string problem;                  ///< Reason for the denial, with the invalid fields; empty if allowed
  std::vector<std::string> warnings{};  ///< Warnings that kubectl prints
};

/// Responds to reviews of Evacuator's own objects: validates them and records their creators. Thread-safe.
class Webhook {
 public:
  struct Dependencies {
    const evictors::EvictorRegistry& registry;
    KeySource& keys;
    const base::Clock& clock;              ///< Wall clock
    std::function<ClusterContext()> look;  ///< Called for each review of a policy, from any thread
    base::Metrics& metrics;
    base::Log log;
  };
  /// All references must outlive this object.
  explicit Webhook(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// Returns the body of a 200 response, or nullopt if `body` is no AdmissionReview that can be answered. Requests for
  /// other kinds are allowed.
  std::optional<std::string> validate(std::string_view body);
  /// Like validate(), with the creator's record as a patch. Denies creations while no signing key exists.
  std::optional<std::string> record_creator(std::string_view body);

 private:
  /// Writes that change no checked field, and writes to objects being deleted, are always allowed. Objects accepted by
  /// older rules can therefore still be labelled, suspended, cancelled, finished and removed.
  Verdict check(const webhooks::AdmissionReview& review) const;
  base::Result<CreatorChange> change_of(const webhooks::AdmissionReview& review) const;
  std::optional<webhooks::AdmissionReview> parse(std::string_view body, const char* webhook);
  void count(const char* webhook, const char* result);

  const Dependencies deps_;
};

}  // namespace controllers::validation
