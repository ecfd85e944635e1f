#include "simulator/objects.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "kube/kubevirt.hpp"
#include "kube/resource.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/registry/kinds.hpp"
#include "simulator/registry/registry.hpp"
#include "simulator/store.hpp"

namespace simulator {
namespace objects {
namespace {

using api::Json;

Json json_of(const api::StringMap& entries) {
  Json object = Json::object();
  for (const auto& [key, value] : entries) object[key] = value;
  return object;
}

Json metadata_of(std::string_view ns, std::string_view name, Json labels) {
  Json metadata = {{"name", name}, {"labels", std::move(labels)}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return metadata;
}

Json app_labels(std::string_view name) { return {{"app", name}}; }

Json pod_spec(std::string_view cpu, std::string_view memory) {
  Json requests = Json::object();
  if (!cpu.empty()) requests["cpu"] = cpu;
  if (!memory.empty()) requests["memory"] = memory;
  Json container = {{"name", "main"}, {"image", "registry.example/app:1"}};
  if (!requests.empty()) container["resources"] = {{"requests", std::move(requests)}};
  Json spec = Json::object();
  spec["containers"] = Json::array({std::move(container)});
  return spec;
}

Json workload(const kube::ResourceType& type, std::string_view ns, std::string_view name, std::string_view cpu,
              std::string_view memory) {
  Json pod_template = Json::object();
  pod_template["metadata"] = {{"labels", app_labels(name)}};
  pod_template["spec"] = pod_spec(cpu, memory);
  Json spec = Json::object();
  spec["selector"] = {{"matchLabels", app_labels(name)}};
  spec["template"] = std::move(pod_template);
  return {{"apiVersion", type.api_version()},
          {"kind", type.kind},
          {"metadata", metadata_of(ns, name, app_labels(name))},
          {"spec", std::move(spec)}};
}

Json scaled_workload(const kube::ResourceType& type, std::string_view ns, std::string_view name, int replicas,
                     std::string_view cpu, std::string_view memory) {
  Json object = workload(type, ns, name, cpu, memory);
  object["spec"]["replicas"] = replicas;
  return object;
}

Json node_condition(std::string_view type, std::string_view status, std::string_view reason, std::string_view message) {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", message}};
}

Json budget(std::string_view ns, std::string_view name, std::string_view app, const char* field, const Json& value) {
  Json spec = Json::object();
  spec["selector"] = {{"matchLabels", app_labels(app)}};
  spec[field] = value;
  return {{"apiVersion", "policy/v1"},
          {"kind", "PodDisruptionBudget"},
          {"metadata", metadata_of(ns, name, app_labels(app))},
          {"spec", std::move(spec)}};
}

}  // namespace

Json name_space(std::string_view name, const api::StringMap& labels) {
  Json all = json_of(labels);
  all["kubernetes.io/metadata.name"] = name;
  Json spec = Json::object();
  spec["finalizers"] = Json::array({"kubernetes"});
  return {{"apiVersion", "v1"},
          {"kind", "Namespace"},
          {"metadata", metadata_of({}, name, std::move(all))},
          {"spec", std::move(spec)},
          {"status", {{"phase", "Active"}}}};
}

Json node(std::string_view name, std::string_view cpu, std::string_view memory, const api::StringMap& labels,
          int pods) {
  Json all = {{"kubernetes.io/hostname", name}, {"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", "amd64"}};
  all.update(json_of(labels));
  Json capacity = {{"cpu", cpu}, {"memory", memory}, {"pods", std::to_string(pods)}, {"ephemeral-storage", "100Gi"}};
  Json status = Json::object();
  status["capacity"] = capacity;
  status["allocatable"] = std::move(capacity);
  status["conditions"] = Json::array({
      node_condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                     "kubelet has sufficient memory available"),
      node_condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      node_condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      node_condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
  });
  status["nodeInfo"] = {{"kubeletVersion", "v1.32.0"}, {"osImage", "Evacuator simulator"},
                        {"kernelVersion", "6.1.0"},    {"containerRuntimeVersion", "simulated://1.0"},
                        {"operatingSystem", "linux"},  {"architecture", "amd64"}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", metadata_of({}, name, std::move(all))},
          {"spec", Json::object()},
          {"status", std::move(status)}};
}

Json pod(std::string_view ns, std::string_view name, std::string_view cpu, std::string_view memory) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", metadata_of(ns, name, app_labels(name))},
          {"spec", pod_spec(cpu, memory)}};
}

Json deployment(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                std::string_view memory) {
  return scaled_workload(kube::kDeployments, ns, name, replicas, cpu, memory);
}

Json replica_set(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                 std::string_view memory) {
  return scaled_workload(kube::kReplicaSets, ns, name, replicas, cpu, memory);
}

Json stateful_set(std::string_view ns, std::string_view name, int replicas, std::string_view cpu,
                  std::string_view memory) {
  Json object = scaled_workload(kube::kStatefulSets, ns, name, replicas, cpu, memory);
  object["spec"]["serviceName"] = name;
  return object;
}

Json daemon_set(std::string_view ns, std::string_view name, std::string_view cpu, std::string_view memory) {
  return workload(kube::kDaemonSets, ns, name, cpu, memory);
}

Json job(std::string_view ns, std::string_view name, int completions, int parallelism, std::string_view run_for) {
  Json object = workload(kube::kJobs, ns, name, "100m", "64Mi");
  object["spec"].erase("selector");
  object["spec"]["completions"] = completions;
  object["spec"]["parallelism"] = parallelism;
  object["spec"]["template"]["spec"]["restartPolicy"] = "Never";
  annotate_pods(object, behaviour::kRunSeconds, run_for);
  return object;
}

Json pdb_min_available(std::string_view ns, std::string_view name, std::string_view app, const Json& value) {
  return budget(ns, name, app, "minAvailable", value);
}

Json pdb_max_unavailable(std::string_view ns, std::string_view name, std::string_view app, const Json& value) {
  return budget(ns, name, app, "maxUnavailable", value);
}

Json persistent_volume_claim(std::string_view ns, std::string_view name, std::string_view size) {
  Json spec = {{"resources", {{"requests", {{"storage", size}}}}}};
  spec["accessModes"] = Json::array({"ReadWriteOnce"});
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"metadata", metadata_of(ns, name, Json::object())},
          {"spec", std::move(spec)},
          {"status", {{"phase", "Pending"}}}};
}

Json persistent_volume(std::string_view name, std::string_view size, std::string_view zone) {
  Json spec = {{"capacity", {{"storage", size}}}};
  spec["accessModes"] = Json::array({"ReadWriteOnce"});
  spec["persistentVolumeReclaimPolicy"] = "Delete";
  if (!zone.empty()) {
    Json term = Json::object();
    Json in_zone = {{"key", "topology.kubernetes.io/zone"}, {"operator", "In"}};
    in_zone["values"] = Json::array({zone});
    term["matchExpressions"] = Json::array({std::move(in_zone)});
    spec["nodeAffinity"] = {{"required", {{"nodeSelectorTerms", Json::array({std::move(term)})}}}};
  }
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata", metadata_of({}, name, Json::object())},
          {"spec", std::move(spec)},
          {"status", {{"phase", "Available"}}}};
}

Json priority_class(std::string_view name, std::int32_t value, bool global_default) {
  return {{"apiVersion", "scheduling.k8s.io/v1"},
          {"kind", "PriorityClass"},
          {"metadata", metadata_of({}, name, Json::object())},
          {"value", value},
          {"globalDefault", global_default},
          {"preemptionPolicy", "PreemptLowerPriority"}};
}

Json open_object() { return {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}; }

Json definition(const kube::ResourceType& type, Json names, Json columns, bool status, Json spec_schema) {
  names["plural"] = type.plural;
  names["kind"] = type.kind;
  Json schema = {{"type", "object"},
                 {"properties",
                  {{"apiVersion", {{"type", "string"}}},
                   {"kind", {{"type", "string"}}},
                   {"metadata", {{"type", "object"}}},
                   {"spec", std::move(spec_schema)},
                   {"status", open_object()}}}};
  Json version = {{"name", type.version},
                  {"served", true},
                  {"storage", true},
                  {"schema", {{"openAPIV3Schema", std::move(schema)}}},
                  {"additionalPrinterColumns", std::move(columns)}};
  if (status) version["subresources"] = {{"status", Json::object()}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", std::string(type.plural) + "." + std::string(type.group)}}},
          {"spec",
           {{"group", type.group},
            {"scope", "Namespaced"},
            {"names", std::move(names)},
            {"versions", Json::array({std::move(version)})}}}};
}

Json& template_of(Json& workload) {
  return api::text_at(workload, {"kind"}) == "Pod" ? workload : object_in(object_in(workload, "spec"), "template");
}

Json& annotate(Json& object, std::string_view key, std::string_view value) {
  object_in(object_in(object, "metadata"), "annotations")[std::string(key)] = value;
  return object;
}

Json& annotate_pods(Json& workload, std::string_view key, std::string_view value) {
  annotate(template_of(workload), key, value);
  return workload;
}

Json& add_claim(Json& stateful_set, std::string_view name, std::string_view size, bool zonal) {
  Json claim = persistent_volume_claim("", name, size);
  claim.erase("status");
  if (zonal) annotate(claim, behaviour::kZonal, "true");
  array_in(object_in(stateful_set, "spec"), "volumeClaimTemplates").push_back(std::move(claim));
  return stateful_set;
}

}  // namespace objects

const std::vector<kube::ResourceType>& known_types() {
  static const std::vector<kube::ResourceType> kTypes = {
      kube::kNamespaces,
      kube::kNodes,
      kube::kPods,
      kube::kPersistentVolumeClaims,
      kube::kPersistentVolumes,
      kube::kPriorityClasses,
      kube::kPdbs,
      kube::kDeployments,
      kube::kReplicaSets,
      kube::kStatefulSets,
      kube::kDaemonSets,
      kube::kJobs,
      kube::kLeases,
      kube::kEvents,
      kube::kEvacuations,
      kube::kPolicies,
      kube::kResourceAdvices,
      kube::kVmis,
      kube::kVmims,
      kube::kKubeVirts,
      kube::ResourceType{"", "v1", "configmaps", "ConfigMap"},
      kube::ResourceType{"", "v1", "endpoints", "Endpoints"},
      kube::ResourceType{"", "v1", "secrets", "Secret"},
      kube::ResourceType{"", "v1", "services", "Service"},
      kube::ResourceType{"", "v1", "serviceaccounts", "ServiceAccount"},
  };
  return kTypes;
}

std::optional<kube::ResourceType> resource_type_of(const api::Json& object) {
  const std::string kind = api::text_at(object, {"kind"});
  const std::string version = api::text_at(object, {"apiVersion"});
  const std::string group =
      version.find('/') == std::string::npos ? std::string() : version.substr(0, version.find('/'));
  for (const kube::ResourceType& type : known_types()) {
    if (type.kind == kind && type.group == group) return type;
  }
  return std::nullopt;
}

namespace {

/// Returns the kind as served by the API server, for defaulting.
ServedResource served_as(const kube::ResourceType& type) {
  ServedResource resource;
  resource.group = type.group;
  resource.version = type.version;
  resource.plural = type.plural;
  resource.kind = type.kind;
  resource.namespaced = type.namespaced;
  resource.storage = type;
  return resource;
}

}  // namespace

void complete(const Store& store, const kube::ResourceType& type, api::Json& object) {
  const ServedResource resource = served_as(type);
  object_in(object, "metadata");
  set_defaults(resource, store, object);
  if (!api::find_at(object, {"status"})) set_initial_status(resource, object);
}

}  // namespace simulator
