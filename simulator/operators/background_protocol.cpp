#include "simulator/operators/background_protocol.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr base::seconds kDefaultMove{5};

struct Intention {
  bool succeeds = true;
  std::optional<base::Duration> after = kDefaultMove;  ///< nullopt if it never acts
};

Intention intention_of(const Json& pod) {
  const std::string text = api::text_at(pod, {"metadata", "annotations", behaviour::kBackground});
  if (text == "silent") return {false, std::nullopt};
  const auto at = text.find('=');
  Intention intention;
  intention.succeeds = text.substr(0, at) != "fail";
  if (at != std::string::npos) intention.after = behaviour::parse_duration(text.substr(at + 1)).value_or(kDefaultMove);
  return intention;
}

/// Returns true if the pod uses the protocol. KubeVirt's launchers also have the annotation, but are handled by
/// simulator/kubevirt/kubevirt.hpp.
bool takes_part(const Json& pod) {
  const PodFacts facts = facts_of(pod);
  if (api::text_at(pod, {"metadata", "labels", "kubevirt.io"}) == "virt-launcher") return false;
  return facts.is_active() && !facts.node.empty() && behaviour::is_set(pod, api::well_known::kRequestEvictOnly);
}

bool is_marked(const Json& pod) {
  return takes_part(pod) && behaviour::is_set(pod, api::well_known::kEvictionInProgress);
}

std::optional<Denial> review_eviction(Store& store, const AdmissionRequest& request) {
  if (request.subresource != "eviction" || request.resource.plural != "pods") return std::nullopt;
  const Object pod = store.get(kube::kPods, request.key);
  if (!pod || !takes_part(*pod)) return std::nullopt;
  std::string message = "Eviction triggered evacuation of pod \"" + request.key.to_string() + "\"";
  if (is_marked(*pod)) return Denial{429, "Evacuation in progress: " + message, "TooManyRequests"};
  if (request.dry_run) return Denial{429, std::move(message), "TooManyRequests"};
  const auto marked = store.mutate(kube::kPods, request.key, Part::kMain, [&](Json& edited) -> base::Status {
    if (uid_of(edited) != uid_of(*pod)) return base::Error{base::ErrorCode::kConflict, "another pod"};
    object_in(object_in(edited, "metadata"), "annotations")[std::string(api::well_known::kEvictionInProgress)] = "true";
    return base::Done{};
  });
  if (!marked) return std::nullopt;  // deleted concurrently; the server handles it
  return Denial{429, std::move(message), "TooManyRequests"};
}

}  // namespace

Webhook background_webhook(Store& store) {
  Webhook webhook;
  webhook.name = "background-eviction.simulator.evacuator.dev";
  webhook.review = [&store](const AdmissionRequest& request) { return review_eviction(store, request); };
  return webhook;
}

BackgroundMover::BackgroundMover(Store& store) : store_(store), journal_(store) {
  journal_.on_reset([this] {
    marked_.clear();
    agenda_.clear();
  });
  journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
}

bool BackgroundMover::tick(base::TimePoint now) {
  now_ = now;
  journal_.poll();
  bool changed = false;
  for (const api::ObjectKey& key : agenda_.take_due(now)) changed = finish(key) || changed;
  return changed;
}

void BackgroundMover::on_pod(const Change& change) {
  const bool marked = change.kind != ChangeKind::kDeleted && is_marked(*change.object);
  const auto known = marked_.find(change.key);
  const bool same = known != marked_.end() && marked && known->second == uid_of(*change.object);
  if (same) return;
  marked_.erase(change.key);
  agenda_.drop(change.key);
  if (!marked) return;
  marked_[change.key] = uid_of(*change.object);
  if (const auto after = intention_of(*change.object).after) agenda_.set(change.key, now_ + *after);
}

bool BackgroundMover::finish(const api::ObjectKey& key) {
  const auto known = marked_.find(key);
  const Object pod = store_.get(kube::kPods, key);
  if (known == marked_.end() || !pod || uid_of(*pod) != known->second) return false;
  if (intention_of(*pod).succeeds) return store_.remove(kube::kPods, key, {known->second, ""}).ok();
  return store_
      .mutate(kube::kPods, key, Part::kMain,
              [&](Json& edited) -> base::Status {
                object_in(object_in(edited, "metadata"), "annotations")
                    .erase(std::string(api::well_known::kEvictionInProgress));
                return base::Done{};
              })
      .ok();
}

}  // namespace simulator
