#include "simulator/registry/kinds.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/names.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/registry/selection.hpp"

namespace simulator {
namespace {

using api::FieldErrors;
using api::Json;

constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kQualifiedNameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

bool is(const ServedResource& resource, std::string_view group, std::string_view plural) {
  return resource.group == group && resource.plural == plural;
}

void set_if_absent(Json& object, const char* name, Json value) {
  if (object.is_object() && !object.contains(name)) object[name] = std::move(value);
}

/// Returns the member as an object, created if absent. Returns nullptr if it has another type.
Json* object_member(Json& parent, const char* name) {
  if (!parent.is_object()) return nullptr;
  Json& member = parent[name];
  if (member.is_null()) member = Json::object();
  return member.is_object() ? &member : nullptr;
}

/// Returns all containers of a pod spec.
std::vector<Json*> containers_in(Json& spec) {
  std::vector<Json*> found;
  for (const char* list : {"containers", "initContainers"}) {
    if (auto at = spec.find(list); at != spec.end() && at->is_array()) {
      for (Json& container : *at) found.push_back(&container);
    }
  }
  return found;
}

/// Returns the object at the path, an empty one if there is none.
Json object_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = api::find_at(object, path);
  return found && found->is_object() ? *found : Json::object();
}

// --- defaults

void default_container(Json& container) {
  if (!container.is_object()) return;
  const std::string image = api::text_at(container, {"image"});
  const auto colon = image.rfind(':');
  const bool latest =
      colon == std::string::npos || image.find('/', colon) != std::string::npos || image.ends_with(":latest");
  set_if_absent(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent");
  set_if_absent(container, "resources", Json::object());
  set_if_absent(container, "terminationMessagePath", "/dev/termination-log");
  set_if_absent(container, "terminationMessagePolicy", "File");
  if (auto ports = container.find("ports"); ports != container.end() && ports->is_array()) {
    for (Json& port : *ports) set_if_absent(port, "protocol", "TCP");
  }
  const Json* limits = api::find_at(container, {"resources", "limits"});
  if (!limits || !limits->is_object()) return;
  if (Json* requests = object_member(container["resources"], "requests")) {  // limits are the default of requests
    for (const auto& [name, amount] : limits->items()) set_if_absent(*requests, name.c_str(), amount);
  }
}

void default_pod_spec(Json& spec) {
  set_if_absent(spec, "restartPolicy", "Always");
  set_if_absent(spec, "dnsPolicy", "ClusterFirst");
  set_if_absent(spec, "schedulerName", "default-scheduler");
  set_if_absent(spec, "terminationGracePeriodSeconds", 30);
  set_if_absent(spec, "securityContext", Json::object());
  for (Json* container : containers_in(spec)) default_container(*container);
}

void add_toleration(Json& spec, std::string_view key) {
  Json& tolerations = spec["tolerations"];
  if (tolerations.is_null()) tolerations = Json::array();
  if (!tolerations.is_array()) return;
  for (const Json& known : tolerations) {
    const std::string its_key = api::text_at(known, {"key"});
    const std::string effect = api::text_at(known, {"effect"});
    if ((its_key == key || its_key.empty()) && (effect.empty() || effect == "NoExecute")) return;
  }
  tolerations.push_back({{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
}

/// Sets spec.priority from the named class, or from the global default class.
void resolve_priority(const Store& store, Json& spec) {
  const std::string name = api::text_at(spec, {"priorityClassName"});
  const std::pair<std::string_view, int> system[] = {{"system-cluster-critical", 2'000'000'000},
                                                     {"system-node-critical", 2'000'001'000}};
  for (const auto& [known, value] : system) {
    if (name == known) return set_if_absent(spec, "priority", value);
  }
  if (!name.empty()) {
    const Object found = store.get(kube::kPriorityClasses, {"", name});
    if (found) set_if_absent(spec, "priority", api::number_at(*found, {"value"}).value_or(0));
  } else {
    for (const Object& priority_class : store.list(kube::kPriorityClasses)) {
      if (!api::flag_at(*priority_class, {"globalDefault"})) continue;
      spec["priorityClassName"] = api::text_at(*priority_class, {"metadata", "name"});
      set_if_absent(spec, "priority", api::number_at(*priority_class, {"value"}).value_or(0));
    }
  }
  set_if_absent(spec, "priority", 0);
}

void default_pod(const Store& store, Json& pod) {
  Json* spec = object_member(pod, "spec");
  if (!spec) return;
  default_pod_spec(*spec);
  set_if_absent(*spec, "enableServiceLinks", true);
  set_if_absent(*spec, "serviceAccountName", "default");
  set_if_absent(*spec, "preemptionPolicy", "PreemptLowerPriority");
  resolve_priority(store, *spec);
  add_toleration(*spec, "node.kubernetes.io/not-ready");
  add_toleration(*spec, "node.kubernetes.io/unreachable");
}

Json* template_spec(Json& spec) {
  Json* pod_template = object_member(spec, "template");
  return pod_template ? object_member(*pod_template, "spec") : nullptr;
}

void default_workload(const ServedResource& resource, Json& object) {
  Json* spec = object_member(object, "spec");
  if (!spec) return;
  if (Json* pod_spec = template_spec(*spec)) default_pod_spec(*pod_spec);
  if (resource.plural != "daemonsets") set_if_absent(*spec, "replicas", 1);
  if (resource.plural == "replicasets") return;
  set_if_absent(*spec, "revisionHistoryLimit", 10);
  if (resource.plural == "deployments") {
    set_if_absent(*spec, "progressDeadlineSeconds", 600);
    set_if_absent(*spec, "strategy", {{"type", "RollingUpdate"}});
    Json& strategy = (*spec)["strategy"];
    if (api::text_at(strategy, {"type"}) == "RollingUpdate") {
      if (Json* rolling = object_member(strategy, "rollingUpdate")) {
        set_if_absent(*rolling, "maxSurge", "25%");
        set_if_absent(*rolling, "maxUnavailable", "25%");
      }
    }
    return;
  }
  set_if_absent(*spec, "updateStrategy", {{"type", "RollingUpdate"}});
  if (resource.plural == "statefulsets") set_if_absent(*spec, "podManagementPolicy", "OrderedReady");
}

/// Adds a selector to a Job without one. Kubernetes uses the Job's UID; it is not known yet, so the name is used.
void default_job(Json& job) {
  Json* spec = object_member(job, "spec");
  if (!spec) return;
  set_if_absent(*spec, "parallelism", 1);
  if (!spec->contains("completions") && api::number_at(*spec, {"parallelism"}) == 1) (*spec)["completions"] = 1;
  set_if_absent(*spec, "backoffLimit", 6);
  set_if_absent(*spec, "completionMode", "NonIndexed");
  set_if_absent(*spec, "suspend", false);
  if (Json* pod_spec = template_spec(*spec)) default_pod_spec(*pod_spec);
  const std::string name = api::text_at(job, {"metadata", "name"});
  if (spec->contains("selector") || name.empty()) return;
  (*spec)["selector"] = {{"matchLabels", {{"batch.kubernetes.io/job-name", name}}}};
  Json* metadata = object_member((*spec)["template"], "metadata");
  Json* labels = metadata ? object_member(*metadata, "labels") : nullptr;
  if (!labels) return;
  set_if_absent(*labels, "batch.kubernetes.io/job-name", name);
  set_if_absent(*labels, "job-name", name);
}

void default_namespace(Json& object) {
  if (Json* labels = object_member(object["metadata"], "labels")) {
    (*labels)["kubernetes.io/metadata.name"] = api::text_at(object, {"metadata", "name"});
  }
  if (Json* spec = object_member(object, "spec")) set_if_absent(*spec, "finalizers", Json::array({"kubernetes"}));
}

void default_service(Json& service) {
  Json* spec = object_member(service, "spec");
  if (!spec) return;
  set_if_absent(*spec, "type", "ClusterIP");
  set_if_absent(*spec, "sessionAffinity", "None");
  if (auto ports = spec->find("ports"); ports != spec->end() && ports->is_array()) {
    for (Json& port : *ports) {
      set_if_absent(port, "protocol", "TCP");
      if (port.is_object() && port.contains("port")) set_if_absent(port, "targetPort", Json(port["port"]));
    }
  }
}

bool has_amounts(const Json& container, const char* kind) {
  const Json amounts = object_at(container, {"resources", kind});
  return amounts.contains("cpu") || amounts.contains("memory");
}

bool is_guaranteed(const Json& container) {
  return std::ranges::all_of(std::array{"cpu", "memory"}, [&](const char* name) {
    const Json* limit = api::find_at(container, {"resources", "limits", name});
    const Json* request = api::find_at(container, {"resources", "requests", name});
    return limit && request && *limit == *request;
  });
}

std::string_view qos_class(const Json& pod) {
  bool any = false;
  bool guaranteed = true;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : api::items_at(pod, {"spec", list})) {
      any = any || has_amounts(container, "requests") || has_amounts(container, "limits");
      guaranteed = guaranteed && is_guaranteed(container);
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

// --- checks

std::string quoted_value(std::string_view value, std::string_view rule) {
  return fmt::format("Invalid value: \"{}\": {}", value, rule);
}

void validate_name(const ServedResource& resource, const std::string& name, FieldErrors& errors) {
  if (name.empty()) return;  // the store checks for name or generateName
  if (resource.group == "rbac.authorization.k8s.io") {
    if (name.find_first_of("/%") != std::string::npos)
      errors.push_back({"metadata.name", quoted_value(name, "may not contain '/' or '%'")});
  } else if (is(resource, "", "namespaces") || is(resource, "", "services")) {
    if (!api::is_dns_label(name)) errors.push_back({"metadata.name", quoted_value(name, kLabelRule)});
  } else if (!api::is_dns_subdomain(name)) {
    errors.push_back({"metadata.name", quoted_value(name, kSubdomainRule)});
  }
}

void validate_string_map(const Json& metadata, const char* field, bool are_labels, FieldErrors& errors) {
  const Json* map = api::find_at(metadata, {field});
  if (!map || map->is_null()) return;
  const std::string path = std::string("metadata.") + field;
  if (!map->is_object()) {
    errors.push_back({path, "Invalid value: must be an object of strings"});
    return;
  }
  for (const auto& [key, value] : map->items()) {
    if (!api::is_qualified_name(key)) errors.push_back({path, quoted_value(key, kQualifiedNameRule)});
    if (!value.is_string()) {
      errors.push_back({fmt::format("{}.{}", path, key),
                        fmt::format("Invalid value: {}: must be a string", api::to_json_text(value))});
    } else if (are_labels && !api::is_label_value(value.get_ref<const std::string&>())) {
      errors.push_back({path, quoted_value(value.get<std::string>(), kLabelValueRule)});
    }
  }
}

void validate_owners(const Json& metadata, FieldErrors& errors) {
  const Json* owners = api::find_at(metadata, {"ownerReferences"});
  if (!owners || owners->is_null()) return;
  if (!owners->is_array()) return errors.push_back({"metadata.ownerReferences", "Invalid value: must be an array"});
  int controllers = 0;
  for (std::size_t i = 0; i < owners->size(); ++i) {
    const Json& owner = (*owners)[i];
    controllers += api::flag_at(owner, {"controller"}) ? 1 : 0;
    for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
      if (api::text_at(owner, {field}).empty())
        errors.push_back(
            {fmt::format("metadata.ownerReferences[{}].{}", i, field), "Required value: must not be empty"});
    }
  }
  if (controllers > 1)
    errors.push_back({"metadata.ownerReferences", "Invalid value: Only one reference can have Controller set to true"});
}

void validate_finalizers(const Json& metadata, FieldErrors& errors) {
  const Json* finalizers = api::find_at(metadata, {"finalizers"});
  if (!finalizers || finalizers->is_null()) return;
  if (!finalizers->is_array()) return errors.push_back({"metadata.finalizers", "Invalid value: must be an array"});
  for (const Json& finalizer : *finalizers) {
    if (!finalizer.is_string() || !api::is_qualified_name(finalizer.get_ref<const std::string&>())) {
      errors.push_back({"metadata.finalizers",
                        fmt::format("Invalid value: {}: {}", api::to_json_text(finalizer), kQualifiedNameRule)});
    }
  }
}

void validate_pod_spec(const Json& spec, const std::string& path, FieldErrors& errors) {
  const Json& containers = api::items_at(spec, {"containers"});
  if (containers.empty()) return errors.push_back({path + ".containers", "Required value"});
  for (std::size_t i = 0; i < containers.size(); ++i) {
    for (const char* field : {"name", "image"}) {
      if (api::text_at(containers[i], {field}).empty())
        errors.push_back({fmt::format("{}.containers[{}].{}", path, i, field), "Required value"});
    }
  }
  const Json* grace = api::find_at(spec, {"terminationGracePeriodSeconds"});
  if (grace && !grace->is_number_integer() && !grace->is_null()) {
    errors.push_back({path + ".terminationGracePeriodSeconds", "Invalid value: must be an integer"});
  }
}

void validate_selected_template(const Json& object, FieldErrors& errors) {
  const Json* selector = api::find_at(object, {"spec", "selector"});
  const Json* labels = api::find_at(object, {"spec", "template", "metadata", "labels"});
  if (!selector || !selector->is_object()) {
    errors.push_back({"spec.selector", "Required value"});
  } else if (selector->empty()) {
    errors.push_back({"spec.selector", "Invalid value: {}: empty selector is invalid for this kind"});
  } else if (!label_selector_matches(*selector, labels)) {
    errors.push_back(
        {"spec.template.metadata.labels", fmt::format("Invalid value: {}: `selector` does not match template `labels`",
                                                      labels ? labels->dump() : "null")});
  }
  validate_pod_spec(object_at(object, {"spec", "template", "spec"}), "spec.template.spec", errors);
}

void validate_pdb(const Json& pdb, FieldErrors& errors) {
  if (api::find_at(pdb, {"spec", "minAvailable"}) && api::find_at(pdb, {"spec", "maxUnavailable"})) {
    errors.push_back({"spec", "Invalid value: minAvailable and maxUnavailable cannot be both set"});
  }
  const std::string policy = api::text_at(pdb, {"spec", "unhealthyPodEvictionPolicy"});
  if (!policy.empty() && policy != "IfHealthyBudget" && policy != "AlwaysAllow") {
    errors.push_back(
        {"spec.unhealthyPodEvictionPolicy",
         fmt::format("Unsupported value: \"{}\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\"", policy)});
  }
}

/// Returns a pod's spec without the fields that may change after creation.
Json fixed_part(const Json& pod) {
  const Json* spec = api::find_at(pod, {"spec"});
  if (!spec || !spec->is_object()) return nullptr;
  Json fixed = *spec;
  for (const char* field :
       {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "nodeName", "schedulingGates"})
    fixed.erase(field);
  for (Json* container : containers_in(fixed)) {
    if (container->is_object()) container->erase("image");
  }
  return fixed;
}

/// Checks that taints are unique by key and effect.
void validate_taints(const Json& object, FieldErrors& errors) {
  const Json& taints = api::items_at(object, {"spec", "taints"});
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const Json& taint = taints[i];
    if (!taint.is_object() || seen.emplace(taint.value("key", ""), taint.value("effect", "")).second) continue;
    errors.push_back(
        {fmt::format("spec.taints[{}]", i), "Duplicate value: taints must be unique by key and effect pair"});
  }
}

}  // namespace

void set_defaults(const ServedResource& resource, const Store& store, Json& object) {
  if (is(resource, "", "pods")) return default_pod(store, object);
  if (is(resource, "", "namespaces")) return default_namespace(object);
  if (is(resource, "", "services")) return default_service(object);
  if (is(resource, "batch", "jobs")) return default_job(object);
  if (resource.group == "apps") return default_workload(resource, object);
  if (is(resource, "", "persistentvolumeclaims")) {
    if (Json* spec = object_member(object, "spec")) set_if_absent(*spec, "volumeMode", "Filesystem");
  }
  if (is(resource, "scheduling.k8s.io", "priorityclasses"))
    set_if_absent(object, "preemptionPolicy", "PreemptLowerPriority");
}

void set_initial_status(const ServedResource& resource, Json& object) {
  if (is(resource, "", "pods")) object["status"] = {{"phase", "Pending"}, {"qosClass", qos_class(object)}};
  if (is(resource, "", "namespaces")) object["status"] = {{"phase", "Active"}};
  if (is(resource, "", "persistentvolumeclaims") || is(resource, "", "persistentvolumes"))
    object["status"] = {{"phase", "Pending"}};
  if (is(resource, "apps", "deployments") || is(resource, "batch", "jobs")) object["status"] = Json::object();
  if (is(resource, "apps", "replicasets")) object["status"] = {{"replicas", 0}};
  if (is(resource, "apps", "statefulsets")) object["status"] = {{"replicas", 0}, {"availableReplicas", 0}};
  if (is(resource, "apps", "daemonsets")) {
    object["status"] = {
        {"currentNumberScheduled", 0}, {"desiredNumberScheduled", 0}, {"numberMisscheduled", 0}, {"numberReady", 0}};
  }
  if (is(resource, "policy", "poddisruptionbudgets")) {
    object["status"] = {{"currentHealthy", 0}, {"desiredHealthy", 0}, {"disruptionsAllowed", 0}, {"expectedPods", 0}};
  }
}

FieldErrors validate_metadata(const ServedResource& resource, const Json& object) {
  FieldErrors errors;
  const Json& metadata = object.at("metadata");
  validate_name(resource, api::text_at(metadata, {"name"}), errors);
  validate_string_map(metadata, "labels", true, errors);
  validate_string_map(metadata, "annotations", false, errors);
  validate_owners(metadata, errors);
  validate_finalizers(metadata, errors);
  return errors;
}

FieldErrors validate_built_in(const ServedResource& resource, const Json& object) {
  FieldErrors errors;
  if (is(resource, "", "pods")) {
    validate_pod_spec(object_at(object, {"spec"}), "spec", errors);
  }
  if (resource.group == "apps") validate_selected_template(object, errors);
  if (is(resource, "batch", "jobs")) {
    validate_pod_spec(object_at(object, {"spec", "template", "spec"}), "spec.template.spec", errors);
  }
  if (is(resource, "policy", "poddisruptionbudgets")) validate_pdb(object, errors);
  if (is(resource, "", "nodes")) validate_taints(object, errors);
  return errors;
}

FieldErrors validate_built_in_update(const ServedResource& resource, const Json& before, const Json& after) {
  const auto unchanged = [&](std::initializer_list<std::string_view> path) { return same_at(before, after, path); };
  FieldErrors errors;
  if (is(resource, "", "pods")) {
    if (fixed_part(before) != fixed_part(after) || !unchanged({"spec", "nodeName"})) {
      errors.push_back(
          {"spec",
           "Forbidden: pod updates may not change fields other than "
           "`spec.containers[*].image`,`spec.initContainers[*].image`,"
           "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
           "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"});
    }
  } else if ((resource.group == "apps" || is(resource, "batch", "jobs")) && !unchanged({"spec", "selector"})) {
    const Json* selector = api::find_at(after, {"spec", "selector"});
    errors.push_back(
        {"spec.selector", fmt::format("Invalid value: {}: field is immutable", selector ? selector->dump() : "null")});
  } else if (is(resource, "scheduling.k8s.io", "priorityclasses") && !unchanged({"value"})) {
    errors.push_back({"value", "Forbidden: may not be changed in an update."});
  }
  return errors;
}

}  // namespace simulator
