#pragma once

/// Builders of Kubernetes objects for the demo and the tests. Objects are complete enough for kubectl; edit the
/// returned JSON for other fields. Workloads and their pods have the label app=<name>, which budgets select.

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
/// Returns a ready, schedulable node with the standard labels (hostname, os, arch) and a capacity of `pods` pods.
/// Quantities use Kubernetes' format: "4", "500m", "8Gi".
api::Json node(std::string_view name, std::string_view cpu, std::string_view memory, const api::StringMap& labels = {},
               int pods = 110);

/// Returns a pod without owner, with one container and these requests (empty for no request).
api::Json pod(std::string_view ns, std::string_view name, std::string_view cpu, std::string_view memory);
api::Json deployment(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                     std::string_view memory);
api::Json replica_set(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                      std::string_view memory);
/// Returns a StatefulSet with OrderedReady and without PersistentVolumeClaims; see add_claim().
api::Json stateful_set(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                       std::string_view memory);
api::Json daemon_set(std::string_view ns, std::string_view name, std::string_view cpu, std::string_view memory);
/// Returns a Job. Each pod runs for `run_for` ("10s") and exits with 0.
api::Json job(std::string_view ns, std::string_view name, int completions, int parallelism, std::string_view run_for);

/// Returns a policy/v1 budget for the pods with app=<app>. `value` is a number or "25%".
api::Json pdb_min_available(std::string_view ns, std::string_view name, std::string_view app, const api::Json& value);
api::Json pdb_max_unavailable(std::string_view ns, std::string_view name, std::string_view app, const api::Json& value);

api::Json persistent_volume_claim(std::string_view ns, std::string_view name, std::string_view size);
/// Returns a PersistentVolume. With a zone, only nodes whose topology.kubernetes.io/zone has that value can use it.
api::Json persistent_volume(std::string_view name, std::string_view size, std::string_view zone = {});
api::Json priority_class(std::string_view name, std::int32_t value, bool global_default = false);

/// Returns a CRD of a namespaced kind. `names` has the names other than plural and kind, `columns` the printer columns.
/// It accepts any status field. With `status`, it has the status subresource.
api::Json definition(const kube::ResourceType& type, api::Json names, api::Json columns, bool status,
                     api::Json spec_schema);
/// Returns a schema that accepts any object.
api::Json open_object();

/// Returns spec.template of a workload, or the pod itself, to add annotations and scheduling rules.
api::Json& template_of(api::Json& workload);
/// Sets an annotation of the object itself. Returns the object for chaining.
api::Json& annotate(api::Json& object, std::string_view key, std::string_view value);
/// Sets an annotation of the pods that the workload creates, or of the pod itself. Returns the workload for chaining.
api::Json& annotate_pods(api::Json& workload, std::string_view key, std::string_view value);
/// Adds a volumeClaimTemplate to a StatefulSet, and the volume of its mount.
api::Json& add_claim(api::Json& stateful_set, std::string_view name, std::string_view size, bool zonal);

}  // namespace objects

/// Returns the type of the object by apiVersion and kind, nullopt if the simulator's actors do not know it.
std::optional<kube::ResourceType> resource_type_of(const api::Json& object);
const std::vector<kube::ResourceType>& known_types();

/// Adds what the API server adds to a new object of that kind: defaults and, for pods, priority by class, QoS class,
/// the NoExecute tolerations of 300 s and phase Pending. Existing values are kept.
void complete(const Store& store, const kube::ResourceType& type, api::Json& object);

}  // namespace simulator
