#include "controllers/advice/workloads.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>
#include <utility>

#include "api/advice/resource_advice.hpp"
#include "api/meta/names.hpp"

namespace controllers::advice {
namespace {

using advisor::ControllerName;
using advisor::WorkloadKey;

struct Owned {
  WorkloadKey key;
  api::OwnerReference owner;
};

bool is_advised_kind(std::string_view kind) {
  static constexpr std::array<std::string_view, 3> kWithoutPast = {"Pod", "Node", "Job"};
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !kind.empty() && kind.size() <= 63 && std::ranges::all_of(kind, is_letter) &&
         std::ranges::find(kWithoutPast, kind) == kWithoutPast.end();
}

/// Tenants choose names. A name that cannot be part of an object name gets no advice.
bool is_advised(const Owned& owned) {
  return is_advised_kind(owned.key.kind) && owned.key.name == owned.owner.name && owned.key.kind == owned.owner.kind &&
         !owned.owner.uid.empty() && !owned.owner.api_version.empty() && api::is_dns_subdomain(advice_name(owned.key));
}

/// The workload is named by the pod's owner reference, or by that of the ReplicaSet or Job in between.
std::optional<Owned> owned_by(const api::Pod& pod, const Cluster& cluster) {
  const api::OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr || pod.is_mirror()) return std::nullopt;
  api::OwnerReference top = *owner;
  const auto find = [&](const WorkloadKey& key) -> std::optional<ControllerName> {
    const auto between = cluster.workload(key.kind, {key.ns, key.name});
    if (!between || between->meta.uid != owner->uid) return std::nullopt;
    const api::OwnerReference* above = between->meta.controller();
    if (above == nullptr) return ControllerName{};
    top = *above;
    return ControllerName{above->kind, above->name};
  };
  const std::string* hash = pod.meta.labels.find(advisor::kTemplateHashLabel);
  Owned owned{advisor::workload_of({pod.meta.ns, pod.meta.name, {owner->kind, owner->name}, hash ? *hash : ""}, find),
              std::move(top)};
  if (!is_advised(owned)) return std::nullopt;
  return owned;
}

std::optional<double> amount_in(const api::ResourceList& list, std::string_view name) {
  const auto at = std::ranges::find(list, name, [](const auto& each) -> const std::string& { return each.first; });
  if (at == list.end() || at->second.milli() < 0) return std::nullopt;
  return static_cast<double>(at->second.milli()) / 1000;
}

advisor::ContainerSpec spec_of(const api::Container& container, bool is_sidecar) {
  advisor::ContainerSpec spec;
  spec.name = container.name;
  spec.resources = {amount_in(container.requests, "cpu"), amount_in(container.limits, "cpu"),
                    amount_in(container.requests, "memory"), amount_in(container.limits, "memory")};
  spec.is_sidecar = is_sidecar;
  return spec;
}

std::vector<advisor::ContainerSpec> containers_of(const api::Pod& pod) {
  std::vector<advisor::ContainerSpec> specs;
  for (const api::Container& each : pod.containers) specs.push_back(spec_of(each, false));
  for (const api::Container& each : pod.init_containers) {
    if (each.restart_always) specs.push_back(spec_of(each, true));
  }
  if (specs.size() > api::kMaxAdvisedContainers) specs.resize(api::kMaxAdvisedContainers);
  return specs;
}

void count_kills(const api::Pod& pod, std::vector<advisor::ContainerSpec>& containers) {
  constexpr std::string_view kKilled = "OOMKilled";
  for (const api::ContainerStatus& status : pod.container_statuses) {
    const bool killed = status.terminated_reason == kKilled || status.last_terminated_reason == kKilled;
    const auto at = std::ranges::find(containers, status.name, &advisor::ContainerSpec::name);
    if (killed && at != containers.end()) ++at->oom_kills;
  }
}

/// Pods of one workload.
struct Group {
  api::OwnerReference owner;
  std::vector<const api::Pod*> pods;
};

AdvisedWorkload workload_from(const Group& group) {
  const api::Pod* newest = *std::ranges::max_element(
      group.pods, {}, [](const api::Pod* pod) { return std::tie(pod->meta.creation_timestamp, pod->meta.name); });
  AdvisedWorkload workload{group.owner, static_cast<int>(group.pods.size()), containers_of(*newest)};
  for (const api::Pod* each : group.pods) count_kills(*each, workload.containers);
  return workload;
}

}  // namespace

std::string pod_key(std::string_view ns, std::string_view pod) {
  std::string key(ns);
  return key.append(1, '/').append(pod);
}

std::string advice_name(const WorkloadKey& key) {
  std::string name = key.kind;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name + "-" + key.name;
}

std::set<WorkloadKey> fair_share(const std::set<WorkloadKey>& wanted, std::size_t most) {
  if (wanted.size() <= most) return wanted;
  std::map<std::string_view, std::vector<const WorkloadKey*>> by_namespace;
  for (const WorkloadKey& key : wanted) by_namespace[key.ns].push_back(&key);
  std::set<WorkloadKey> share;
  for (std::size_t turn = 0; share.size() < most; ++turn) {
    for (const auto& [ns, keys] : by_namespace) {
      if (turn < keys.size() && share.size() < most) share.insert(*keys[turn]);
    }
  }
  return share;
}

Advised advised_workloads(const Cluster& cluster, std::size_t most) {
  std::map<WorkloadKey, Group> groups;
  std::map<std::string, bool, std::less<>> selected;
  for (const auto& pod : cluster.pods) {
    if (pod->is_terminal() || pod->node_name.empty()) continue;
    auto is_selected = selected.find(pod->meta.ns);
    if (is_selected == selected.end())
      is_selected = selected.emplace(pod->meta.ns, cluster.is_selected(pod->meta.ns)).first;
    if (!is_selected->second) continue;
    auto owned = owned_by(*pod, cluster);
    if (!owned) continue;
    Group& group = groups[std::move(owned->key)];
    group.owner = std::move(owned->owner);
    group.pods.push_back(pod.get());
  }
  std::set<WorkloadKey> wanted;
  for (const auto& [key, group] : groups) wanted.insert(key);
  Advised advised;
  for (const WorkloadKey& key : fair_share(wanted, most)) {
    const Group& group = groups[key];
    advised.workloads.emplace(key, workload_from(group));
    for (const api::Pod* pod : group.pods)
      advised.pods.emplace(pod_key(pod->meta.ns, pod->meta.name), AdvisedPod{key, pod->start_time});
  }
  advised.left_out = wanted.size() - advised.workloads.size();
  return advised;
}

}  // namespace controllers::advice
