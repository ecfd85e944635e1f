#pragma once

/// Concise builders of Kubernetes objects for the demo and the tests. Everything is complete enough for kubectl; edit
/// the returned JSON for the rest. Workloads and their pods carry the label app=<name>; budgets select it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/result.hpp"
#include "kube/resource.hpp"

namespace simulator {

class Store;

namespace objects {

api::Json name_space(std::string_view name, const api::StringMap& labels = {});
/// Ready, schedulable, with the usual labels (hostname, os, arch) and `pods` pod slots. Quantities are Kubernetes':
/// "4", "500m", "8Gi".
api::Json node(std::string_view name, std::string_view cpu, std::string_view memory, const api::StringMap& labels = {},
               int pods = 110);

/// A bare pod with one container that requests that much ("" = no request).
api::Json pod(std::string_view ns, std::string_view name, std::string_view cpu, std::string_view memory);
api::Json deployment(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                     std::string_view memory);
api::Json replica_set(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                      std::string_view memory);
/// OrderedReady; without claims: see add_claim().
api::Json stateful_set(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                       std::string_view memory);
api::Json daemon_set(std::string_view ns, std::string_view name, std::string_view cpu, std::string_view memory);
/// Each pod runs `run_for` ("10s") and exits with 0.
api::Json job(std::string_view ns, std::string_view name, int completions, int parallelism, std::string_view run_for);

/// policy/v1, over the pods with app=<app>. The value is a number or "25%".
api::Json pdb_min_available(std::string_view ns, std::string_view name, std::string_view app, const api::Json& value);
api::Json pdb_max_unavailable(std::string_view ns, std::string_view name, std::string_view app, const api::Json& value);

api::Json persistent_volume_claim(std::string_view ns, std::string_view name, std::string_view size);
/// With a zone: usable only from nodes whose topology.kubernetes.io/zone is that.
api::Json persistent_volume(std::string_view name, std::string_view size, std::string_view zone = {});
api::Json priority_class(std::string_view name, std::int32_t value, bool global_default = false);

/// spec.template of a workload, or the pod itself: what annotations and scheduling rules belong to.
api::Json& template_of(api::Json& workload);
/// Sets an annotation of the object itself. Returns the object, to chain.
api::Json& annotate(api::Json& object, std::string_view key, std::string_view value);
/// Sets an annotation of the pods that the workload makes (of the pod itself for a pod).
api::Json& annotate_pods(api::Json& workload, std::string_view key, std::string_view value);
/// Adds a volumeClaimTemplate and the volume mount's volume to a StatefulSet.
api::Json& add_claim(api::Json& stateful_set, std::string_view name, std::string_view size, bool zonal);

}  // namespace objects

/// The type that apiVersion and kind name, among the kinds that the simulator's actors know.
std::optional<kube::ResourceType> resource_type_of(const api::Json& object);
/// Every kind that resource_type_of() knows.
const std::vector<kube::ResourceType>& known_types();

/// What the API server adds to a new object of that kind when it is posted: defaults, for pods also priority by class,
/// QoS class, the NoExecute tolerations of 300 s and phase Pending. Values that are there stay.
void complete(const Store& store, const kube::ResourceType& type, api::Json& object);

}  // namespace simulator
