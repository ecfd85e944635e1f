#include "advisor/workloads.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/quantity.hpp"

namespace advisor {

/// Data of a pod that is kept until all objects were added.
struct PodSeen {
  std::string ns, name;
  ControllerName owner;
  std::string hash;  ///< label pod-template-hash
  std::optional<base::TimePoint> started;
  std::vector<ContainerSpec> containers;
  bool runs = false;
};

namespace {

std::string pod_key(std::string_view ns, std::string_view pod) {
  std::string key(ns);
  return key.append(1, '/').append(pod);
}

// --- Naming conventions of controllers

/// Returns true if the text has only characters of Kubernetes' generated names.
bool is_generated(std::string_view text) {
  return !text.empty() && text.find_first_not_of("bcdfghjklmnpqrstvwxz2456789") == std::string_view::npos;
}
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Split {
  std::string_view head;
  std::string_view tail;  ///< after the last dash
};
std::optional<Split> split_at_dash(std::string_view name) {
  const auto dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  return Split{name.substr(0, dash), name.substr(dash + 1)};
}

constexpr std::size_t kGeneratedSuffix = 5;
constexpr std::size_t kMaxHash = 10;

struct Candidate {
  std::string_view kind;
  std::string_view name;
};

/// Returns every workload that may have created a pod with this name.
std::vector<Candidate> candidates_of(std::string_view pod) {
  std::vector<Candidate> found = {{"Pod", pod}};
  const auto first = split_at_dash(pod);
  if (!first) return found;
  if (is_number(first->tail)) found.push_back({"StatefulSet", first->head});
  if (first->tail.size() != kGeneratedSuffix || !is_generated(first->tail)) return found;
  for (const char* kind : {"DaemonSet", "ReplicaSet", "Job"}) found.push_back({kind, first->head});
  const auto second = split_at_dash(first->head);
  if (!second) return found;
  const bool is_hash = second->tail.size() <= kMaxHash && is_generated(second->tail);
  if (is_hash) found.push_back({"Deployment", second->head});
  if (is_number(second->tail)) found.push_back({"CronJob", second->head});
  return found;
}

// --- Containers

std::optional<double> amount_at(const api::Json& container, const char* list, const char* resource) {
  const api::Json* value = api::find_at(container, {"resources", list, resource});
  if (value == nullptr) return std::nullopt;
  return amount_of_text(value->is_string() ? value->get_ref<const std::string&>() : api::to_json_text(*value));
}

Resources resources_of(const api::Json& container) {
  Resources resources{amount_at(container, "requests", "cpu"), amount_at(container, "limits", "cpu"),
                      amount_at(container, "requests", "memory"), amount_at(container, "limits", "memory")};
  // The API server sets these defaults.
  if (!resources.cpu_request) resources.cpu_request = resources.cpu_limit;
  if (!resources.memory_request) resources.memory_request = resources.memory_limit;
  return resources;
}

ContainerSpec container_of(const api::Json& json, bool is_sidecar, bool is_in_template) {
  ContainerSpec container;
  container.name = api::text_at(json, {"name"});
  container.resources = resources_of(json);
  container.heap = heap_flags_of(json);
  container.is_sidecar = is_sidecar;
  container.is_in_template = is_in_template;
  return container;
}

std::vector<ContainerSpec> containers_of(const api::Json& pod_spec, bool is_in_template) {
  std::vector<ContainerSpec> containers;
  for (const api::Json& json : api::items_at(pod_spec, {"containers"}))
    containers.push_back(container_of(json, false, is_in_template));
  for (const api::Json& json : api::items_at(pod_spec, {"initContainers"})) {
    if (api::text_at(json, {"restartPolicy"}) == "Always")
      containers.push_back(container_of(json, true, is_in_template));
  }
  std::erase_if(containers, [](const ContainerSpec& container) { return container.name.empty(); });
  return containers;
}

ControllerName controller_of(const api::Json& object) {
  for (const api::Json& owner : api::items_at(object, {"metadata", "ownerReferences"})) {
    if (api::flag_at(owner, {"controller"})) return {api::text_at(owner, {"kind"}), api::text_at(owner, {"name"})};
  }
  return {};
}

void count_kills(const api::Json& pod, std::vector<ContainerSpec>& containers) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const api::Json& status : api::items_at(pod, {"status", list})) {
      const bool killed = api::text_at(status, {"lastState", "terminated", "reason"}) == "OOMKilled" ||
                          api::text_at(status, {"state", "terminated", "reason"}) == "OOMKilled";
      const std::string name = api::text_at(status, {"name"});
      for (ContainerSpec& container : containers) container.oom_kills += killed && container.name == name ? 1 : 0;
    }
  }
}

PodSeen pod_of(const api::Json& pod) {
  PodSeen seen;
  seen.ns = api::text_at(pod, {"metadata", "namespace"});
  seen.name = api::text_at(pod, {"metadata", "name"});
  seen.owner = controller_of(pod);
  seen.hash = api::text_at(pod, {"metadata", "labels", kTemplateHashLabel});
  seen.started = base::parse_time(api::text_at(pod, {"status", "startTime"}));
  if (const api::Json* spec = api::find_at(pod, {"spec"})) seen.containers = containers_of(*spec, false);
  const std::string phase = api::text_at(pod, {"status", "phase"});
  seen.runs = phase == "Running" || phase == "Pending" || phase.empty();
  count_kills(pod, seen.containers);
  return seen;
}

const api::Json* template_of(const api::Json& object, std::string_view kind) {
  return kind == "CronJob" ? api::find_at(object, {"spec", "jobTemplate", "spec", "template", "spec"})
                           : api::find_at(object, {"spec", "template", "spec"});
}

bool has_template(std::string_view kind) {
  return kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet" || kind == "DaemonSet" ||
         kind == "Job" || kind == "CronJob";
}

}  // namespace

std::optional<double> number_of_text(std::string_view text) {
  const auto quantity = api::Quantity::parse(text);
  return quantity ? std::optional(static_cast<double>(quantity->milli()) / 1000) : std::nullopt;
}

std::optional<double> amount_of_text(std::string_view text) {
  const auto number = number_of_text(text);
  return number && *number >= 0 ? number : std::nullopt;
}

const ContainerSpec* Workload::container(std::string_view name) const {
  const auto at = std::ranges::find(containers, name, &ContainerSpec::name);
  return at == containers.end() ? nullptr : &*at;
}

WorkloadKey workload_of(const PodOrigin& pod, const FindController& find) {
  std::string ns(pod.ns);
  if (pod.controller.kind.empty()) return {std::move(ns), "Pod", std::string(pod.name)};
  WorkloadKey key{std::move(ns), pod.controller.kind, pod.controller.name};
  if (auto above = find(key)) {
    if (!above->kind.empty()) return {key.ns, std::move(above->kind), std::move(above->name)};
    return key;
  }
  const std::string suffix = "-" + std::string(pod.template_hash);
  const bool is_of_deployment = key.kind == "ReplicaSet" && !pod.template_hash.empty() && key.name.ends_with(suffix) &&
                                key.name.size() > suffix.size();
  if (is_of_deployment) return {key.ns, "Deployment", key.name.substr(0, key.name.size() - suffix.size())};
  return key;
}

// --- Owners

void Owners::add_pod(std::string_view ns, std::string_view pod, const WorkloadKey& key,
                     std::optional<base::TimePoint> started) {
  const auto at = workloads_.find(key);
  if (at == workloads_.end()) return;
  known_[pod_key(ns, pod)] = {&at->first, false, at->second};
  if (started) started_[pod_key(ns, pod)] = *started;
}

Owner Owners::of(std::string_view ns, std::string_view pod) const {
  std::string key = pod_key(ns, pod);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  return known_.emplace(std::move(key), guess(ns, pod)).first->second;
}

std::optional<base::TimePoint> Owners::started(std::string_view ns, std::string_view pod) const {
  const auto at = started_.find(pod_key(ns, pod));
  return at == started_.end() ? std::nullopt : std::optional(at->second);
}

Owner Owners::guess(std::string_view ns, std::string_view pod) const {
  Owner owner;
  for (const Candidate& candidate : candidates_of(pod)) {
    const auto at =
        workloads_.find(WorkloadKey{std::string(ns), std::string(candidate.kind), std::string(candidate.name)});
    if (at == workloads_.end()) continue;
    if (owner.workload != nullptr) return {nullptr, true, 0};
    owner = {&at->first, false, at->second};
  }
  return owner;
}

// --- The builder

struct InventoryBuilder::State {
  std::vector<PodSeen> pods;
  std::map<WorkloadKey, ControllerName> owned;  ///< ReplicaSets and Jobs with a controlling owner
  Inventory inventory;

  void add_workload(const api::Json& object, const std::string& kind) {
    WorkloadKey key{api::text_at(object, {"metadata", "namespace"}), kind, api::text_at(object, {"metadata", "name"})};
    if (key.name.empty()) return;
    ControllerName owner = controller_of(object);
    if (!owner.kind.empty()) {
      owned[std::move(key)] = std::move(owner);
      return;
    }
    Workload& workload = inventory.workloads[key];
    workload.key = std::move(key);
    workload.api_version = api::text_at(object, {"apiVersion"});
    if (const api::Json* spec = template_of(object, kind)) workload.containers = containers_of(*spec, true);
  }

  /// An autoscaler listed in two API versions counts once, with its first version.
  void add_autoscaler(Autoscaler autoscaler) {
    const auto is_same = [&](const Autoscaler& other) {
      return other.kind == autoscaler.kind && other.ns == autoscaler.ns && other.name == autoscaler.name;
    };
    if (std::ranges::none_of(inventory.autoscalers, is_same)) inventory.autoscalers.push_back(std::move(autoscaler));
  }

  WorkloadKey owner_of(const PodSeen& pod) const {
    return workload_of({pod.ns, pod.name, pod.owner, pod.hash},
                       [this](const WorkloadKey& key) -> std::optional<ControllerName> {
                         if (const auto at = owned.find(key); at != owned.end()) return at->second;
                         if (inventory.workloads.contains(key)) return ControllerName{};
                         return std::nullopt;
                       });
  }

  /// Adds containers that the pod has in addition to its template, or all if the template is unknown.
  static void take_containers(const PodSeen& pod, Workload& workload) {
    for (const ContainerSpec& seen : pod.containers) {
      const auto known = std::ranges::find(workload.containers, seen.name, &ContainerSpec::name);
      if (known == workload.containers.end()) {
        workload.containers.push_back(seen);
      } else {
        known->oom_kills += seen.oom_kills;
      }
    }
  }

  void take_pods() {
    std::vector<WorkloadKey> keys;
    for (const PodSeen& pod : pods) {
      const WorkloadKey& key = keys.emplace_back(owner_of(pod));
      Workload& workload = inventory.workloads[key];
      workload.key = key;
      workload.replicas += pod.runs ? 1 : 0;
      take_containers(pod, workload);
    }
    for (const auto& [key, workload] : inventory.workloads) inventory.owners.add_workload(key, workload.replicas);
    for (std::size_t i = 0; i < pods.size(); ++i)
      inventory.owners.add_pod(pods[i].ns, pods[i].name, keys[i], pods[i].started);
  }
};

InventoryBuilder::InventoryBuilder() : state_(std::make_unique<State>()) {}
InventoryBuilder::~InventoryBuilder() = default;

void InventoryBuilder::add(const api::Json& object) {
  const std::string kind = api::text_at(object, {"kind"});
  if (kind == "Pod") {
    PodSeen pod = pod_of(object);
    if (!pod.name.empty()) state_->pods.push_back(std::move(pod));
  } else if (has_template(kind)) {
    state_->add_workload(object, kind);
  } else if (auto autoscaler = autoscaler_of(object)) {
    state_->add_autoscaler(*std::move(autoscaler));
  }
}

Inventory InventoryBuilder::finish(std::string_view ns) && {
  State& state = *state_;
  if (!ns.empty()) {
    std::erase_if(state.pods, [&](const PodSeen& pod) { return pod.ns != ns; });
    std::erase_if(state.inventory.workloads, [&](const auto& entry) { return entry.first.ns != ns; });
    std::erase_if(state.inventory.autoscalers, [&](const Autoscaler& each) { return each.ns != ns; });
  }
  state.take_pods();
  return std::move(state.inventory);
}

}  // namespace advisor
