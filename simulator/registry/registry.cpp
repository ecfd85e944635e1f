#include "simulator/registry/registry.hpp"

#include <algorithm>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;

/// A built-in kind. Lists are comma-separated.
struct BuiltIn {
  std::string_view group, version, plural, singular, kind;
  bool namespaced;
  bool has_status;
  bool has_scale;
  std::string_view short_names;
  std::string_view categories;
};

constexpr BuiltIn kBuiltIns[] = {
    {"", "v1", "configmaps", "configmap", "ConfigMap", true, false, false, "cm", ""},
    {"", "v1", "endpoints", "endpoints", "Endpoints", true, false, false, "ep", ""},
    {"", "v1", "events", "event", "Event", true, false, false, "ev", ""},
    {"", "v1", "namespaces", "namespace", "Namespace", false, true, false, "ns", ""},
    {"", "v1", "nodes", "node", "Node", false, true, false, "no", ""},
    {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", true, true, false, "pvc",
     ""},
    {"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", false, true, false, "pv", ""},
    {"", "v1", "pods", "pod", "Pod", true, true, false, "po", "all"},
    {"", "v1", "secrets", "secret", "Secret", true, false, false, "", ""},
    {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", true, false, false, "sa", ""},
    {"", "v1", "services", "service", "Service", true, true, false, "svc", "all"},
    {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
     "MutatingWebhookConfiguration", false, false, false, "", "api-extensions"},
    {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "validatingwebhookconfiguration",
     "ValidatingWebhookConfiguration", false, false, false, "", "api-extensions"},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition",
     false, true, false, "crd,crds", "api-extensions"},
    {"apps", "v1", "daemonsets", "daemonset", "DaemonSet", true, true, false, "ds", "all"},
    {"apps", "v1", "deployments", "deployment", "Deployment", true, true, true, "deploy", "all"},
    {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", true, true, true, "rs", "all"},
    {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", true, true, true, "sts", "all"},
    {"batch", "v1", "jobs", "job", "Job", true, true, false, "", "all"},
    {"coordination.k8s.io", "v1", "leases", "lease", "Lease", true, false, false, "", ""},
    {"events.k8s.io", "v1", "events", "event", "Event", true, false, false, "ev", ""},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", false, false,
     false, "", ""},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole", false, false, false, "", ""},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding", true, false, false, "", ""},
    {"rbac.authorization.k8s.io", "v1", "roles", "role", "Role", true, false, false, "", ""},
    {"scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", false, false, false, "pc", ""},
    {"storage.k8s.io", "v1", "csidrivers", "csidriver", "CSIDriver", false, false, false, "", ""},
    {"storage.k8s.io", "v1", "csinodes", "csinode", "CSINode", false, false, false, "", ""},
    {"storage.k8s.io", "v1", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", true, false, false, "",
     ""},
    {"storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass", false, false, false, "sc", ""},
    {"storage.k8s.io", "v1", "volumeattachments", "volumeattachment", "VolumeAttachment", false, true, false, "", ""},
};
constexpr BuiltIn kPolicyV1Pdb{
    "policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", true, true, false, "pdb", ""};

std::vector<std::string> split_commas(std::string_view text) {
  const auto parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

std::shared_ptr<ServedResource> from_built_in(const BuiltIn& row) {
  auto resource = std::make_shared<ServedResource>();
  resource->group = row.group;
  resource->version = row.version;
  resource->plural = row.plural;
  resource->singular = row.singular;
  resource->kind = row.kind;
  resource->list_kind = std::string(row.kind) + "List";
  resource->short_names = split_commas(row.short_names);
  resource->categories = split_commas(row.categories);
  resource->namespaced = row.namespaced;
  resource->has_status = row.has_status;
  resource->has_scale = row.has_scale;
  resource->status_on_create = row.plural == "nodes";
  resource->storage = {row.group, row.version, row.plural, row.kind, row.namespaced};
  if (row.group.empty() && row.plural == "events") {
    resource->storage = kube::kEvents;
    resource->conversion = Conversion::kCoreEvent;
  }
  return resource;
}

Json copy_or(const Json* found, const Json& otherwise) { return found ? *found : otherwise; }

std::shared_ptr<ServedResource> from_version(const Json& definition, const Json& version) {
  auto custom = std::make_shared<CustomKind>();
  custom->definition = api::text_at(definition, {"metadata", "name"});
  custom->schema = copy_or(api::find_at(version, {"schema", "openAPIV3Schema"}), nullptr);
  custom->columns = copy_or(api::find_at(version, {"additionalPrinterColumns"}), Json::array());
  custom->selectable = copy_or(api::find_at(version, {"selectableFields"}), Json::array());
  custom->scale = copy_or(api::find_at(version, {"subresources", "scale"}), nullptr);

  auto resource = std::make_shared<ServedResource>();
  resource->group = api::text_at(definition, {"spec", "group"});
  resource->version = api::text_at(version, {"name"});
  resource->plural = api::text_at(definition, {"spec", "names", "plural"});
  resource->kind = api::text_at(definition, {"spec", "names", "kind"});
  resource->singular = api::text_at(definition, {"status", "acceptedNames", "singular"});
  resource->list_kind = api::text_at(definition, {"status", "acceptedNames", "listKind"});
  resource->short_names = strings_at(definition, {"spec", "names", "shortNames"});
  resource->categories = strings_at(definition, {"spec", "names", "categories"});
  resource->namespaced = api::text_at(definition, {"spec", "scope"}) != "Cluster";
  resource->has_status = api::find_at(version, {"subresources", "status"}) != nullptr;
  resource->has_scale = custom->scale.is_object();
  resource->custom = std::move(custom);
  resource->storage = {resource->group, resource->version, resource->plural, resource->kind, resource->namespaced};
  return resource;
}

}  // namespace

Registry::Registry(PolicyVersion policy) {
  for (const BuiltIn& row : kBuiltIns) add_locked(from_built_in(row));
  BuiltIn pdb = kPolicyV1Pdb;
  if (policy == PolicyVersion::kV1beta1) pdb.version = "v1beta1";
  auto budgets = from_built_in(pdb);
  budgets->storage = kube::kPdbs;  // single storage version, as in Kubernetes
  add_locked(std::move(budgets));
}

void Registry::add_locked(std::shared_ptr<ServedResource> resource) {
  std::array<std::string, 3> name{resource->group, resource->version, resource->plural};
  table_[std::move(name)] = std::move(resource);
}

ServedPtr Registry::find(std::string_view group, std::string_view version, std::string_view plural) const {
  const std::scoped_lock lock(mutex_);
  const auto found = table_.find(Order::View{group, version, plural});
  return found == table_.end() ? nullptr : found->second;
}

std::vector<ServedPtr> Registry::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ServedPtr> found;
  for (const auto& [name, resource] : table_) found.push_back(resource);
  return found;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Registry::groups() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const ServedPtr& resource : all()) {
    if (resource->group.empty()) continue;
    if (found.empty() || found.back().first != resource->group) found.push_back({resource->group, {}});
    auto& versions = found.back().second;
    if (std::ranges::find(versions, resource->version) == versions.end()) versions.push_back(resource->version);
  }
  return found;
}

void Registry::serve(const Json& definition) {
  const std::scoped_lock lock(mutex_);
  stop_serving_locked(api::text_at(definition, {"metadata", "name"}));
  const Json* versions = api::find_at(definition, {"spec", "versions"});
  if (!versions || !versions->is_array()) return;
  for (const Json& version : *versions) {
    if (api::flag_at(version, {"served"})) add_locked(from_version(definition, version));
  }
}

void Registry::stop_serving(const std::string& definition_name) {
  const std::scoped_lock lock(mutex_);
  stop_serving_locked(definition_name);
}

void Registry::stop_serving_locked(const std::string& definition_name) {
  std::erase_if(
      table_, [&](const auto& row) { return row.second->custom && row.second->custom->definition == definition_name; });
}

ServedPtr Registry::conflicting_resource(const Json& definition) const {
  const std::string name = api::text_at(definition, {"metadata", "name"});
  const std::string group = api::text_at(definition, {"spec", "group"});
  const std::string plural = api::text_at(definition, {"spec", "names", "plural"});
  const std::string kind = api::text_at(definition, {"spec", "names", "kind"});
  for (const ServedPtr& other : all()) {
    if (other->group != group || (other->custom && other->custom->definition == name)) continue;
    if (other->plural == plural || other->kind == kind) return other;
  }
  return nullptr;
}

}  // namespace simulator
