#include "controllers/webhooks/placement/webhook.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controllers/webhooks/admission_review.hpp"
#include "controllers/webhooks/placement/affinity_patch.hpp"
#include "controllers/webhooks/placement/hints.hpp"

namespace controllers::placement {

using base::kv;

Webhook::Webhook(Hints& hints, std::vector<std::string> spared, base::Metrics& metrics, base::Log log)
    : hints_(hints), excluded_namespaces_(std::move(spared)), metrics_(metrics), log_(std::move(log)) {}

std::optional<std::string> Webhook::answer(std::string_view body) {
  const auto review = parse_review(body);
  if (!review) {
    log_.debug("an AdmissionReview could not be read", {kv("error", review.error())});
    count("invalid");
    return std::nullopt;
  }
  return answer_to(*review);
}

std::string Webhook::answer_to(const PodReview& review) {
  const bool is_spared = std::ranges::find(excluded_namespaces_, review.ns) != excluded_namespaces_.end();
  const auto evacuation = review.creates_pod && !is_spared ? hints_.take(review) : nullptr;
  const api::Json patch =
      evacuation ? hint_patch(review.pod, *evacuation->spec.placement, api::placement_mark(*evacuation)) : api::Json();
  if (patch.empty()) {
    count("none");
    return webhooks::allow(review.uid, nullptr);
  }
  // Logs no field of the pod, because the lengths of its names are not validated yet.
  log_.info("gave a placement hint",
            {kv("evacuation", evacuation->meta.key().to_string()), kv("request", review.uid),
             kv("node", evacuation->spec.placement->node_name.value),
             kv("policy", to_string(evacuation->spec.placement->policy)), kv("dryRun", review.dry_run)});
  count("hinted");
  return webhooks::allow(review.uid, patch);
}

void Webhook::count(const char* result) {
  metrics_
      .counter("evacuator_placement_reviews_total",
               "Number of new pods in requests to the placement webhook, by result.", {{"result", result}})
      .increment();
}

}  // namespace controllers::placement
