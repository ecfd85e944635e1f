#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {

/// A pod with these requests in millicores and bytes; 0 requests nothing.
inline builders::PodBuilder pod(const std::string& name, const std::string& node, std::int64_t cpu,
                                std::int64_t memory = 0) {
  builders::PodBuilder built = builders::PodBuilder(name).on(node);
  if (cpu > 0) built.cpu(cpu);
  return memory > 0 ? built.memory(memory) : built;
}

/// Pod with anti-affinity against the other pods made by this function, so that at most one runs on a node.
inline builders::PodBuilder lone(const std::string& name, const std::string& node, std::int64_t cpu) {
  static const api::StringMap labels = {{"app", "lone"}};
  static const std::shared_ptr<const api::Affinity> affinity =
      builders::PodBuilder("")
          .anti_affinity("app", "lone", std::string(api::well_known::kHostnameLabel))
          .build()
          .affinity;
  return pod(name, node, cpu).with([&](api::Pod& object) {
    object.meta.labels = labels;
    object.affinity = affinity;
  });
}

inline builders::PodBuilder with_port(const std::string& name, const std::string& node, std::int32_t port) {
  return pod(name, node, 100).with([&](api::Pod& object) {
    std::vector<api::Container> containers(object.containers.begin(), object.containers.end());
    containers[0].host_ports.push_back({"", "TCP", port});
    object.containers = std::move(containers);
  });
}

/// The pod may only run on nodes with the label `zone`.
inline builders::PodBuilder bound_to(std::string_view zone, builders::PodBuilder pod) {
  return pod.with([&](api::Pod& object) { object.node_selector = object.node_selector.with("zone", zone); });
}

inline builders::ClusterBuilder cluster_of(const std::vector<builders::NodeBuilder>& nodes,
                                           const std::vector<builders::PodBuilder>& pods) {
  builders::ClusterBuilder cluster;
  for (const builders::NodeBuilder& node : nodes) cluster.add(node);
  for (const builders::PodBuilder& each : pods) cluster.add(each);
  return cluster;
}

/// Problem of all nodes of a cluster, for a sink without objections.
class SmallProblem {
 public:
  explicit SmallProblem(const builders::ClusterBuilder& cluster, Defragmentation rules = {})
      : cluster_(cluster.build()), rules_(std::move(rules)) {}

  const DefragmentationProblem& operator*() const { return problem_; }
  const DefragmentationProblem* operator->() const { return &problem_; }
  NodeIndex node(std::string_view name) const { return cluster_->find_node(name).value(); }
  PodIndex pod(std::string_view name) const { return cluster_->find_pod("default", name).value(); }
  const std::string& name_of(PodIndex pod) const { return cluster_->pod(pod).meta.name; }
  const std::string& name_of_node(NodeIndex node) const { return cluster_->node(node).meta.name; }
  /// Returns, by index, whether each node is one of these.
  std::vector<bool> only(const std::vector<std::string>& names) const {
    std::vector<bool> nodes(cluster_->node_count(), false);
    for (const std::string& name : names) nodes[node(name)] = true;
    return nodes;
  }

 private:
  std::unique_ptr<const ClusterSnapshot> cluster_;
  Defragmentation rules_;
  WhatIf what_if_{*cluster_};
  builders::RecordingSink sink_{*cluster_};
  api::FieldErrors errors_;
  api::Evictability spec_;
  scheduling::EvictabilityRules evictability_{spec_, *cluster_, builders::kNoon, errors_};
  std::vector<NodeIndex> nodes_{cluster_->nodes().begin(), cluster_->nodes().end()};
  StrategyContext context_{what_if_, nodes_, evictability_, builders::kNoon};
  DefragmentationProblem problem_{context_, sink_, rules_};
};

}  // namespace strategies
