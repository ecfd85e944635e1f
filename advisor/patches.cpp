#include "advisor/patches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"

namespace advisor {
namespace {

/// Returns true if the name consists of letters, digits, dashes and dots, like Kubernetes names, so that it cannot
/// leave the folder.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.front() != '.' && std::ranges::all_of(name, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '.';
  });
}

/// Wraps a pod spec in the spec of a workload of this kind.
api::Json around_pod_spec(const std::string& kind, api::Json pod_spec) {
  api::Json spec = {{"template", {{"spec", std::move(pod_spec)}}}};
  if (kind != "CronJob") return spec;
  return {{"jobTemplate", {{"spec", std::move(spec)}}}};
}

void put(api::Json& json, const char* list, const char* resource, const std::string& quantity) {
  json[list][resource] = quantity;
}

class Builder {
 public:
  Builder(const Inventory& inventory, bool include_conflicts)
      : inventory_(inventory), include_conflicts_(include_conflicts) {}

  void add(const Advice& advice) {
    if (!advice.has_advice()) return;
    const auto workload = inventory_.workloads.find(advice.key.workload);
    if (workload == inventory_.workloads.end() || workload->second.api_version.empty())
      return leave_out(advice, "the input does not contain the object with its template");
    if (!advice.can_be_patched)
      return leave_out(advice, "its container is not in the template: it is injected by another component");
    if (!is_plain(advice.key.workload.ns) || !is_plain(advice.key.workload.name) || !is_plain(advice.key.container))
      return leave_out(advice, "its name is not a valid Kubernetes name");
    if (advice.key.workload.kind == "Job") return leave_out(advice, "the template of a Job is immutable");
    api::Json resources = resources_of(advice);
    if (resources.empty()) return;
    (advice.is_sidecar ? patches_[advice.key.workload].sidecars : patches_[advice.key.workload].containers)
        .push_back({{"name", advice.key.container}, {"resources", std::move(resources)}});
  }

  Patches take() && {
    for (const auto& [key, patch] : patches_) add_file(key, patch);
    if (!result_.files.empty()) result_.files.insert(result_.files.begin(), component());
    return std::move(result_);
  }

 private:
  struct Patch {
    api::Json containers = api::Json::array();
    api::Json sidecars = api::Json::array();
  };

  void leave_out(const Advice& advice, std::string_view why) {
    const WorkloadKey& key = advice.key.workload;
    result_.left_out.push_back(fmt::format("{}/{}/{} {}: {}", key.ns, key.kind, key.name, advice.key.container, why));
  }

  bool allows(const Advice& advice, std::string_view resource) {
    if (include_conflicts_ || !advice.conflicts_in(resource)) return true;
    for (const Conflict& conflict : advice.conflicts) {
      if (conflict.resource == resource) leave_out(advice, fmt::format("{}: {}", resource, conflict.text));
    }
    return false;
  }

  api::Json resources_of(const Advice& advice) {
    api::Json resources = api::Json::object();
    const Resources& then = advice.recommended;
    if (then.cpu_request && allows(advice, "cpu")) {
      put(resources, "requests", "cpu", cpu_quantity(*then.cpu_request));
      put(resources, "limits", "cpu", cpu_quantity(*then.cpu_limit));
    }
    if (then.memory_request && allows(advice, "memory")) {
      put(resources, "requests", "memory", memory_quantity(*then.memory_request));
      put(resources, "limits", "memory", memory_quantity(*then.memory_limit));
    }
    return resources;
  }

  void add_file(const WorkloadKey& key, const Patch& patch) {
    api::Json pod_spec = api::Json::object();
    if (!patch.containers.empty()) pod_spec["containers"] = patch.containers;
    if (!patch.sidecars.empty()) pod_spec["initContainers"] = patch.sidecars;
    const std::string& version = inventory_.workloads.at(key).api_version;
    const api::Json object = {{"apiVersion", version},
                              {"kind", key.kind},
                              {"metadata", {{"name", key.name}, {"namespace", key.ns}}},
                              {"spec", around_pod_spec(key.kind, std::move(pod_spec))}};
    std::string kind = key.kind;
    std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string path = fmt::format("{}/{}-{}.yaml", key.ns, kind, key.name);
    result_.files.push_back({path, api::to_yaml(object)});
    names_.push_back({{"path", path}});
  }

  PatchFile component() const {
    const api::Json object = {
        {"apiVersion", "kustomize.config.k8s.io/v1alpha1"}, {"kind", "Component"}, {"patches", names_}};
    return {"kustomization.yaml", api::to_yaml(object)};
  }

  const Inventory& inventory_;
  const bool include_conflicts_;
  std::map<WorkloadKey, Patch> patches_;
  api::Json names_ = api::Json::array();
  Patches result_;
};

}  // namespace

std::string cpu_quantity(double cores) { return fmt::format("{:.0f}m", std::ceil(cores * 1000 - 1e-6)); }
std::string memory_quantity(double bytes) { return fmt::format("{:.0f}Mi", std::ceil(bytes / 1048576.0 - 1e-9)); }

Patches patches_of(const Inventory& inventory, const std::vector<Advice>& advice, bool include_conflicts) {
  Builder builder(inventory, include_conflicts);
  for (const Advice& each : advice) builder.add(each);
  return std::move(builder).take();
}

}  // namespace advisor
