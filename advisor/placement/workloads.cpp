#include "advisor/placement/workloads.hpp"

#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "advisor/workloads.hpp"

namespace advisor {
namespace {

std::pair<std::string, std::string> owner_of(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr) return {"Pod", pod.meta.name};
  const std::string* hash = pod.meta.labels.find(kTemplateHashLabel);
  if (owner->kind == "ReplicaSet" && hash != nullptr && owner->name.ends_with("-" + *hash))
    return {"Deployment", owner->name.substr(0, owner->name.size() - hash->size() - 1)};
  return {owner->kind, owner->name};
}

}  // namespace

std::vector<PodGroup> pod_groups(const scheduling::SnapshotInput& cluster) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < cluster.pods.size(); ++i) {
    const api::Pod& pod = *cluster.pods[i];
    if (pod.node_name.empty() || pod.is_terminal() || pod.is_daemon_set() || pod.is_mirror()) continue;
    auto [kind, name] = owner_of(pod);
    groups[{pod.meta.ns, std::move(kind), std::move(name)}].push_back(i);
  }
  std::vector<PodGroup> found;
  for (auto& [key, pods] : groups)
    found.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::move(pods)});
  return found;
}

std::size_t nodes_of(const scheduling::SnapshotInput& cluster, const std::vector<std::size_t>& pods) {
  std::set<std::string_view> nodes;
  for (const std::size_t pod : pods) nodes.insert(cluster.pods[pod]->node_name.value);
  return nodes.size();
}

}  // namespace advisor
