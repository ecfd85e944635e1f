#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/metrics.hpp"

namespace controllers::placement {

class Hints;
struct PodReview;

/// Responds to reviews of new pods. Always allows the pod, with a patch if there is a hint for it. Thread-safe.
class Webhook {
 public:
  /// Pods in `spared` namespaces get no hint even if the MutatingWebhookConfiguration selects them, because servers
  /// before 1.21 do not label namespaces with their names. `hints` and `metrics` must outlive this object.
  Webhook(Hints& hints, std::vector<std::string> spared, base::Metrics& metrics, base::Log log);

  /// Returns the body of a 200 response, or nullopt if `body` is no AdmissionReview that can be answered.
  std::optional<std::string> answer(std::string_view body);

 private:
  std::string answer_to(const PodReview& review);
  void count(const char* result);

  Hints& hints_;
  const std::vector<std::string> excluded_namespaces_;
  base::Metrics& metrics_;
  const base::Log log_;
};

}  // namespace controllers::placement
