#include "simulator/operators/background_protocol.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/operators/pod_restarter.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

/// Returns true if the pod uses the protocol. KubeVirt's launchers also have the annotation, but are handled by
/// simulator/kubevirt/kubevirt.hpp.
bool takes_part(const Json& pod) {
  const PodFacts facts = facts_of(pod);
  if (api::text_at(pod, {"metadata", "labels", "kubevirt.io"}) == "virt-launcher") return false;
  return facts.is_active() && !facts.node.empty() && behaviour::is_set(pod, api::well_known::kRequestEvictOnly);
}

std::optional<Denial> review_eviction(Store& store, const AdmissionRequest& request) {
  if (request.subresource != "eviction" || request.resource.plural != "pods") return std::nullopt;
  const Object pod = store.get(kube::kPods, request.key);
  if (!pod || !takes_part(*pod)) return std::nullopt;
  std::string message = "Eviction triggered evacuation of pod \"" + request.key.to_string() + "\"";
  if (behaviour::is_set(*pod, api::well_known::kEvictionInProgress))
    return Denial{429, "Evacuation in progress: " + message, "TooManyRequests"};
  if (request.dry_run) return Denial{429, std::move(message), "TooManyRequests"};
  if (!set_pod_annotation(store, request.key, uid_of(*pod), api::well_known::kEvictionInProgress, "true"))
    return std::nullopt;  // deleted concurrently; the server handles it
  return Denial{429, std::move(message), "TooManyRequests"};
}

}  // namespace

Webhook background_webhook(Store& store) {
  return {"background-eviction.simulator.evacuator.dev",
          [&store](const AdmissionRequest& request) { return review_eviction(store, request); }};
}

std::unique_ptr<Actor> make_background_mover(Store& store) {
  return make_pod_restarter(store, {.actor = "background-mover",
                                    .annotation = api::well_known::kEvictionInProgress,
                                    .value = "",
                                    .after = base::seconds(5),
                                    .script = behaviour::kBackground,
                                    .takes_part = takes_part});
}

}  // namespace simulator
