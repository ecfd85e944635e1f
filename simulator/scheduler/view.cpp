#include "simulator/scheduler/view.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr std::string_view kSchedulerName = "default-scheduler";

/// Returns true if the change cannot affect placement: only status and annotations differ, and the pod has not ended.
bool same_placement(const Json& before, const Json& after) {
  const auto ended = [](const Json& pod) {
    const std::string phase = api::text_at(pod, {"status", "phase"});
    return phase == "Succeeded" || phase == "Failed";
  };
  return ended(before) == ended(after) && same_at(before, after, {"metadata", "deletionTimestamp"}) &&
         same_at(before, after, {"metadata", "uid"}) && same_at(before, after, {"metadata", "labels"}) &&
         same_at(before, after, {"spec"});
}

bool waits_for_us(const api::Pod& pod) {
  return pod.node_name.empty() && !pod.meta.is_terminating() && !pod.is_terminal() && !pod.has_scheduling_gates &&
         (pod.scheduler_name.empty() || pod.scheduler_name == kSchedulerName);
}

}  // namespace

SchedulerView::SchedulerView(const Store& store) : journal_(store) {
  journal_.on_reset([this] {
    pods_.clear();
    nodes_.clear();
    namespaces_.clear();
    claims_.clear();
    volumes_.clear();
    pending_.clear();
  });
  follow(kube::kNodes, nodes_, api::decode_node, {"spec"});
  follow(kube::kNamespaces, namespaces_, api::decode_namespace, {});
  follow(kube::kPersistentVolumeClaims, claims_, api::decode_pvc, {"spec"});
  follow(kube::kPersistentVolumes, volumes_, api::decode_pv, {"spec"});
  journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
}

bool SchedulerView::poll() {
  capacity_ = false;
  journal_.poll();
  return capacity_;
}

const api::Pod* SchedulerView::pod(const api::ObjectKey& key) const {
  const auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : found->second.get();
}

/// Updates `table`. A change is relevant if labels, one of `parts` or a node's status differ.
template <typename T>
void SchedulerView::follow(const kube::ResourceType& type, Table<T>& table,
                           base::Result<T> (*decode)(std::string_view json),
                           std::initializer_list<std::string_view> parts) {
  const std::vector<std::string> watched(parts.begin(), parts.end());
  journal_.follow(type, [this, &table, decode, watched](const Change& change) {
    if (change.kind == ChangeKind::kDeleted) {
      table.erase(change.key);
      return;
    }
    auto decoded = decode(api::to_json_text(*change.object));
    if (!decoded) return;
    table[change.key] = std::make_shared<const T>(*std::move(decoded));
    const auto differs = [&](std::initializer_list<std::string_view> path) {
      return !same_at(*change.before, *change.object, path);
    };
    capacity_ = capacity_ || !change.before || differs({"metadata", "labels"}) || differs({"status", "allocatable"}) ||
                differs({"status", "conditions"}) ||
                std::ranges::any_of(watched, [&](const std::string& part) { return differs({part}); });
  });
}

void SchedulerView::on_pod(const Change& change) {
  if (change.kind == ChangeKind::kDeleted) {
    const auto known = pods_.find(change.key);
    capacity_ = capacity_ || (known != pods_.end() && !known->second->node_name.empty());
    if (known != pods_.end()) pods_.erase(known);
    pending_.erase(change.key);
    return;
  }
  if (change.before && change.kind == ChangeKind::kModified && pods_.contains(change.key) &&
      same_placement(*change.before, *change.object))
    return;
  auto decoded = api::decode_pod(api::to_json_text(*change.object));
  if (!decoded) return;
  // A pod newly on a node can satisfy another pod's affinity; a pod that ends frees capacity.
  capacity_ = capacity_ || !decoded->node_name.empty();
  if (waits_for_us(*decoded)) {
    pending_.insert(change.key);
  } else {
    pending_.erase(change.key);
  }
  pods_[change.key] = std::make_shared<const api::Pod>(*std::move(decoded));
}

scheduling::SnapshotInput SchedulerView::input() const {
  scheduling::SnapshotInput input;
  const auto copy = [](const auto& table, auto& list) {
    list.reserve(table.size());
    for (const auto& [key, object] : table) list.push_back(object);
  };
  copy(pods_, input.pods);
  copy(nodes_, input.nodes);
  copy(namespaces_, input.namespaces);
  copy(claims_, input.claims);
  copy(volumes_, input.volumes);
  return input;
}

}  // namespace simulator
