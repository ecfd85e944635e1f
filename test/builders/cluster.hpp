#pragma once

/// Small clusters for tests: PodBuilder("web-1").on("n1").cpu(200).owned_by("ReplicaSet", "web").

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/meta/well_known.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace builders {

inline base::TimePoint at(const char* time) { return base::parse_time(time).value(); }
inline const base::TimePoint kNoon = at("2026-06-01T12:00:00Z");

inline api::LabelSelector labels_in(std::string key, std::vector<std::string> values) {
  return {{{std::move(key), api::SelectorOperator::kIn, std::move(values)}}};
}

/// A running pod of namespace "default", owned by a ReplicaSet "rs", an hour old at kNoon.
class PodBuilder {
 public:
  explicit PodBuilder(std::string name) {
    pod_.meta.ns = "default";
    pod_.meta.name = std::move(name);
    pod_.meta.uid = "uid-" + pod_.meta.name;
    pod_.meta.creation_timestamp = kNoon - base::seconds(3600);
    pod_.start_time = pod_.meta.creation_timestamp;
    pod_.phase = api::PodPhase::kRunning;
    pod_.conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", 0, {}});
    pod_.containers.push_back({"main", "img", {}, {}, {}, false});
    owned_by("ReplicaSet", "rs");
  }
  PodBuilder& ns(std::string ns) { return pod_.meta.ns = std::move(ns), *this; }
  PodBuilder& on(std::string node) { return pod_.node_name = {std::move(node)}, *this; }
  PodBuilder& request(const std::string& resource, std::int64_t milli) {
    api::add_amount(pod_.containers[0].requests, resource, api::Quantity::from_milli(milli));
    return *this;
  }
  PodBuilder& cpu(std::int64_t milli) { return request("cpu", milli); }
  PodBuilder& memory(std::int64_t bytes) { return request("memory", bytes * 1000); }
  PodBuilder& label(std::string_view key, std::string_view value) {
    return pod_.meta.labels = pod_.meta.labels.with(key, value), *this;
  }
  PodBuilder& annotate(std::string_view key, std::string_view value = "") {
    return pod_.meta.annotations = pod_.meta.annotations.with(key, value), *this;
  }
  PodBuilder& bare() { return pod_.meta.owner_references.clear(), *this; }
  PodBuilder& owned_by(std::string kind, const std::string& name) {
    bare();
    pod_.meta.owner_references.push_back({"apps/v1", std::move(kind), name, "uid-of-" + name, true});
    return *this;
  }
  PodBuilder& priority(std::int32_t value) { return pod_.priority = value, *this; }
  PodBuilder& phase(api::PodPhase phase) { return pod_.phase = phase, *this; }
  PodBuilder& older_by(base::seconds age) {
    pod_.meta.creation_timestamp = kNoon - age;
    return pod_.start_time = pod_.meta.creation_timestamp, *this;
  }
  PodBuilder& tolerate(std::string key) {
    api::Toleration toleration;
    toleration.key = std::move(key);
    toleration.exists = true;
    return pod_.tolerations.push_back(std::move(toleration)), *this;
  }
  PodBuilder& terminating() { return pod_.meta.deletion_timestamp = kNoon, *this; }
  PodBuilder& not_ready() { return pod_.conditions.clear(), *this; }
  PodBuilder& anti_affinity(std::string key, std::string value, std::string topology) {
    return affinity([&](api::Affinity& affinity) {
      api::PodAffinityTerm& term = affinity.required_pod_anti_affinity.emplace_back();
      term.label_selector = labels_in(std::move(key), {std::move(value)});
      term.topology_key = std::move(topology);
    });
  }
  template <typename F>
  PodBuilder& affinity(F&& change) {
    api::Affinity next = pod_.affinity ? *pod_.affinity : api::Affinity{};
    change(next);
    if (next.required_node_terms || !next.preferred_node_terms.empty()) next.has_node_affinity = true;
    return pod_.affinity = std::make_shared<const api::Affinity>(std::move(next)), *this;
  }
  /// Sets members that have no method of their own.
  template <typename F>
  PodBuilder& with(F&& change) {
    change(pod_);
    return *this;
  }
  api::Pod build() const { return pod_; }

 private:
  api::Pod pod_;
};

/// A ready node with 4 cpu, 4000 bytes of memory and capacity for 10 pods, labelled with its name.
class NodeBuilder {
 public:
  explicit NodeBuilder(std::string name) {
    node_.meta.name = std::move(name);
    node_.meta.labels = {{std::string(api::well_known::kHostnameLabel), node_.meta.name}};
    node_.conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", 0, {}});
    sized(4000, 4000, 10);
  }
  NodeBuilder& sized(std::int64_t cpu_milli, std::int64_t memory, std::int64_t pods) {
    node_.allocatable = {{"cpu", api::Quantity::from_milli(cpu_milli)},
                         {"memory", api::Quantity::from_units(memory)},
                         {"pods", api::Quantity::from_units(pods)}};
    return node_.capacity = node_.allocatable, *this;
  }
  NodeBuilder& offer(const std::string& resource, std::int64_t units) {
    api::add_amount(node_.allocatable, resource, api::Quantity::from_units(units));
    return node_.capacity = node_.allocatable, *this;
  }
  NodeBuilder& label(std::string_view key, std::string_view value) {
    return node_.meta.labels = node_.meta.labels.with(key, value), *this;
  }
  NodeBuilder& taint(std::string key, api::TaintEffect effect = api::TaintEffect::kNoSchedule) {
    return node_.taints.push_back({std::move(key), "", effect}), *this;
  }
  NodeBuilder& cordoned() { return node_.unschedulable = true, *this; }
  NodeBuilder& not_ready() { return node_.conditions[0].status = api::ConditionStatus::kFalse, *this; }
  template <typename F>
  NodeBuilder& with(F&& change) {
    change(node_);
    return *this;
  }
  api::Node build() const { return node_; }

 private:
  api::Node node_;
};

/// A PodDisruptionBudget in namespace "default" for pods with app=<app>.
inline api::PodDisruptionBudget pdb(std::string name, std::string app, std::int32_t allowed) {
  api::PodDisruptionBudget budget;
  budget.meta.ns = "default";
  budget.meta.name = std::move(name);
  budget.selector = labels_in("app", {std::move(app)});
  budget.disruptions_allowed = allowed;
  budget.current_healthy = allowed + 1;
  budget.desired_healthy = 1;
  return budget;
}

class ClusterBuilder {
 public:
  ClusterBuilder& add(const PodBuilder& pod) { return take(input_.pods, pod.build()); }
  ClusterBuilder& add(const NodeBuilder& node) { return take(input_.nodes, node.build()); }
  ClusterBuilder& add(api::PodDisruptionBudget pdb) { return take(input_.pdbs, std::move(pdb)); }
  ClusterBuilder& add(api::PersistentVolumeClaim claim) { return take(input_.claims, std::move(claim)); }
  ClusterBuilder& add(api::PersistentVolume volume) { return take(input_.volumes, std::move(volume)); }
  ClusterBuilder& add(api::StorageClass storage_class) {
    return take(input_.storage_classes, std::move(storage_class));
  }
  ClusterBuilder& add(api::CsiNode node) { return take(input_.csi_nodes, std::move(node)); }
  ClusterBuilder& add(api::VolumeAttachment attachment) {
    return take(input_.volume_attachments, std::move(attachment));
  }
  ClusterBuilder& add(api::SchedulingPodGroup group) { return take(input_.pod_groups, std::move(group)); }
  ClusterBuilder& add(api::CsiDriver driver) { return take(input_.csi_drivers, std::move(driver)); }
  ClusterBuilder& add(api::CsiStorageCapacity capacity) { return take(input_.storage_capacities, std::move(capacity)); }
  ClusterBuilder& add(api::ResourceClaim claim) { return take(input_.resource_claims, std::move(claim)); }
  ClusterBuilder& add(api::Workload workload) { return take(input_.workloads, std::move(workload)); }
  ClusterBuilder& add_namespace(std::string name, api::StringMap labels) {
    api::Namespace ns;
    ns.meta.name = std::move(name);
    ns.meta.labels = std::move(labels);
    return take(input_.namespaces, std::move(ns));
  }
  ClusterBuilder& add_priority_class(std::string name, std::int32_t value) {
    api::PriorityClass each;
    each.meta.name = std::move(name);
    each.value = value;
    return take(input_.priority_classes, std::move(each));
  }
  const scheduling::SnapshotInput& input() const { return input_; }
  std::unique_ptr<const scheduling::ClusterSnapshot> build() const {
    return std::make_unique<const scheduling::ClusterSnapshot>(input_);
  }

 private:
  template <typename T>
  ClusterBuilder& take(scheduling::SnapshotInput::List<T>& list, T object) {
    list.push_back(std::make_shared<const T>(std::move(object)));
    return *this;
  }

  scheduling::SnapshotInput input_;
};

}  // namespace builders
