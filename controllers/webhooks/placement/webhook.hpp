#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/webhooks/placement/hints.hpp"

namespace controllers::placement {

/// Answers the API server about new pods: always "allowed", with a patch when there is a hint for the pod. Whatever
/// goes wrong, the pod is created as it was sent. Thread-safe.
class Webhook {
 public:
  /// Pods of `spared` namespaces are left alone, whatever the MutatingWebhookConfiguration says: servers before 1.21 do
  /// not label namespaces with their names. `hints` and `metrics` must outlive it.
  Webhook(Hints& hints, std::vector<std::string> spared, base::Metrics& metrics, base::Log log);

  /// The body of an answer 200 to a body; nullopt: that was no AdmissionReview that can be answered.
  std::optional<std::string> answer(std::string_view body);

 private:
  enum class Result { kHinted, kNone, kInvalid };
  std::string answer_to(const PodReview& review);
  void count(Result result);

  Hints& hints_;
  const std::vector<std::string> spared_;
  base::Metrics& metrics_;
  const base::Log log_;
};

}  // namespace controllers::placement
