#pragma once

/// Random small clusters for property tests of strategies, and independent counts of the strategies' violations.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "planner/plan/planner.hpp"
#include "planner/scheduling/predicates.hpp"
#include "test/builders/cluster.hpp"

namespace strategy_worlds {

using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::ClusterSnapshot;
using scheduling::NodeIndex;
using scheduling::PodIndex;

template <typename T>
std::shared_ptr<const T> shared(T object) {
  return std::make_shared<const T>(std::move(object));
}

/// Small cluster with inputs for every strategy.
class RandomWorld {
 public:
  explicit RandomWorld(unsigned seed) : random_(seed) {
    const int nodes = pick(2, 6);
    for (int i = 0; i < nodes; ++i) objects_.nodes.push_back(shared(node(i)));
    const int pods = pick(4, 45);
    for (int i = 0; i < pods; ++i) objects_.pods.push_back(shared(pod(i, nodes)));
    objects_.pdbs.push_back(shared(builders::pdb("b", "a", pick(0, 3))));
  }

  const scheduling::SnapshotInput& objects() const { return objects_; }
  scheduling::SnapshotInput shuffled() {
    scheduling::SnapshotInput other = objects_;
    std::ranges::shuffle(other.pods, random_);
    std::ranges::shuffle(other.nodes, random_);
    return other;
  }
  api::PerCycleLimits limits() {
    api::PerCycleLimits limits;
    if (flip()) limits.total = pick(1, 8);
    if (flip()) limits.per_node = pick(1, 3);
    if (flip()) limits.per_namespace = pick(1, 6);
    return limits;
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  bool flip() { return pick(0, 1) == 1; }
  bool rarely() { return pick(0, 7) == 0; }
  std::string app() { return std::string(1, static_cast<char>('a' + pick(0, 2))); }

  api::Node node(int number) {
    NodeBuilder node("n" + std::to_string(number));
    node.sized(pick(1, 4) * 1000, 4000, pick(6, 20)).label("zone", "z" + std::to_string(number % 3));
    if (flip()) node.label("disk", "ssd");
    if (rarely()) node.cordoned();
    if (rarely()) node.taint("t", static_cast<api::TaintEffect>(pick(0, 2)));
    return node.build();
  }

  api::Pod pod(int number, int nodes) {
    PodBuilder pod("p" + std::to_string(100 + number));
    pod.ns(rarely() ? "other" : "default").label("app", app()).cpu(pick(0, 6) * 100).memory(pick(0, 400));
    pod.on("n" + std::to_string(pick(0, flip() ? nodes - 1 : 0)));
    pod.owned_by(rarely() ? "DaemonSet" : "ReplicaSet", "rs" + std::to_string(pick(0, 3)));
    pod.older_by(base::minutes(pick(0, 120)));
    if (rarely()) pod.bare();
    if (rarely()) pod.terminating();
    if (rarely()) pod.phase(static_cast<api::PodPhase>(pick(1, 5)));
    if (rarely()) pod.tolerate("t");
    if (flip()) pod.priority(pick(0, 3));
    return decorated(pod).build();
  }

  PodBuilder& decorated(PodBuilder& pod) {
    if (rarely()) pod.anti_affinity("app", app(), flip() ? "zone" : "kubernetes.io/hostname");
    if (rarely()) pod.with([](api::Pod& each) { each.node_selector = {{"disk", "ssd"}}; });
    if (rarely()) {
      pod.affinity([](api::Affinity& affinity) {
        affinity.preferred_node_terms.push_back({5, {{{"disk", api::SelectorOperator::kIn, {"ssd"}}}, {}}});
      });
    }
    if (flip()) pod.with([&](api::Pod& each) { each.topology_spread.push_back(constraint(each)); });
    if (rarely()) {
      pod.with([&](api::Pod& each) {
        api::ContainerStatus status;
        status.name = "main";
        status.restart_count = pick(1, 9);
        each.container_statuses.push_back(status);
      });
    }
    return pod;
  }

  api::TopologySpreadConstraint constraint(const api::Pod& pod) {
    api::TopologySpreadConstraint constraint;
    constraint.topology_key = flip() ? "zone" : "kubernetes.io/hostname";
    constraint.max_skew = pick(1, 2);
    constraint.label_selector = builders::labels_in("app", {pod.meta.labels.value("app")});
    if (rarely()) constraint.min_domains = 3;
    return constraint;
  }

  std::mt19937 random_;
  scheduling::SnapshotInput objects_;
};

// --- violations, counted independently of the strategies

using Count = std::function<std::int64_t(const ClusterSnapshot&)>;

inline bool runs(const ClusterSnapshot& cluster, PodIndex pod) {
  return cluster.is_active(pod) && cluster.node_of(pod) != scheduling::kNoNode &&
         !cluster.pod(pod).meta.is_terminating();
}

inline Count pods_with(std::function<bool(const ClusterSnapshot&, PodIndex)> violates) {
  return [=](const ClusterSnapshot& cluster) {
    return std::ranges::count_if(cluster.pods(), [&](PodIndex pod) { return violates(cluster, pod); });
  };
}

inline const api::Node& node_under(const ClusterSnapshot& cluster, PodIndex pod) {
  return cluster.node(cluster.node_of(pod));
}

inline bool suffers_taint(const ClusterSnapshot& cluster, PodIndex pod) {
  using enum api::TaintEffect;
  return runs(cluster, pod) &&
         scheduling::first_untolerated(cluster.pod(pod).tolerations, node_under(cluster, pod).taints,
                                       {kNoSchedule, kNoExecute}) != nullptr;
}

inline bool misses_selector(const ClusterSnapshot& cluster, PodIndex pod) {
  return runs(cluster, pod) && !scheduling::matches_node_terms(cluster.pod(pod), node_under(cluster, pod));
}

inline bool misses_preference(const ClusterSnapshot& cluster, PodIndex pod) {
  const api::Pod& object = cluster.pod(pod);
  return runs(cluster, pod) && object.affinity && !object.affinity->preferred_node_terms.empty() &&
         !scheduling::matches(object.affinity->preferred_node_terms[0].term, node_under(cluster, pod));
}

inline bool share_domain(const ClusterSnapshot& cluster, PodIndex a, PodIndex b, const std::string& key) {
  const std::string* first = node_under(cluster, a).meta.labels.find(key);
  const std::string* second = node_under(cluster, b).meta.labels.find(key);
  return first != nullptr && second != nullptr && *first == *second;
}

inline std::int64_t conflicts(const ClusterSnapshot& cluster) {
  std::int64_t count = 0;
  for (const PodIndex a : cluster.pods()) {
    if (!cluster.pod(a).affinity || !cluster.is_active(a) || cluster.node_of(a) == scheduling::kNoNode) continue;
    for (const api::PodAffinityTerm& term : cluster.pod(a).affinity->required_pod_anti_affinity) {
      for (const PodIndex b : cluster.pods()) {
        if (a == b || !cluster.is_active(b) || cluster.node_of(b) == scheduling::kNoNode) continue;
        if (scheduling::covers(term, a, b, cluster) && share_domain(cluster, a, b, term.topology_key)) ++count;
      }
    }
  }
  return count;
}

/// Sum over nodes and owners of the squared number of pods. A move to a node with fewer siblings lowers it.
inline std::int64_t crowding(const ClusterSnapshot& cluster) {
  std::map<std::string, std::int64_t> held;
  for (const PodIndex pod : cluster.pods()) {
    const api::Pod& object = cluster.pod(pod);
    if (!runs(cluster, pod) || object.meta.owner_references.empty()) continue;
    ++held[object.meta.ns + "/" + object.meta.owner_references[0].uid + object.meta.owner_references[0].kind + "@" +
           object.node_name.value];
  }
  std::int64_t sum = 0;
  for (const auto& [key, count] : held) sum += count * count;
  return sum;
}

inline double cpu_percent(const ClusterSnapshot& cluster, NodeIndex node) {
  return 100.0 * static_cast<double>(cluster.used().get(node, scheduling::kCpuIndex)) /
         static_cast<double>(cluster.allocatable().get(node, scheduling::kCpuIndex));
}

inline std::int64_t overused(const ClusterSnapshot& cluster) {
  return std::ranges::count_if(cluster.nodes(), [&](NodeIndex node) { return cpu_percent(cluster, node) > 50; });
}

/// Number of underused nodes with running pods.
inline std::int64_t wasted(const ClusterSnapshot& cluster) {
  return std::ranges::count_if(cluster.nodes(), [&](NodeIndex node) {
    return cpu_percent(cluster, node) <= 40 &&
           std::ranges::any_of(cluster.pods_on(node), [&](PodIndex pod) { return runs(cluster, pod); });
  });
}

/// Number of nodes with running pods other than DaemonSet pods.
inline std::int64_t busy(const ClusterSnapshot& cluster) {
  return std::ranges::count_if(cluster.nodes(), [&](NodeIndex node) {
    return std::ranges::any_of(cluster.pods_on(node),
                               [&](PodIndex pod) { return runs(cluster, pod) && !cluster.is_daemon_set(pod); });
  });
}

/// Number of pods in excess of one constraint, as seen by the pod that has it.
inline std::int64_t excess_of(const ClusterSnapshot& cluster, PodIndex owner,
                              const api::TopologySpreadConstraint& constraint) {
  std::map<std::string, std::int64_t> domains;
  const auto domain_at = [&](NodeIndex node) -> const std::string* {
    if (!scheduling::matches_node_terms(cluster.pod(owner), cluster.node(node))) return nullptr;
    return cluster.node(node).meta.labels.find(constraint.topology_key);
  };
  for (const NodeIndex node : cluster.nodes()) {
    if (const std::string* domain = domain_at(node)) domains[*domain] += 0;
  }
  for (const PodIndex pod : cluster.pods_in(cluster.namespace_of(owner))) {
    if (!runs(cluster, pod) || !constraint.label_selector->matches(cluster.pod(pod).meta.labels)) continue;
    if (const std::string* domain = domain_at(cluster.node_of(pod))) ++domains[*domain];
  }
  std::int64_t fewest = domains.empty() ? 0 : domains.begin()->second;
  for (const auto& [name, count] : domains) fewest = std::min(fewest, count);
  if (constraint.min_domains && static_cast<std::int64_t>(domains.size()) < *constraint.min_domains) fewest = 0;
  std::int64_t excess = 0;
  for (const auto& [name, count] : domains) excess += std::max<std::int64_t>(0, count - fewest - constraint.max_skew);
  return excess;
}

/// Sum of excess_of(), each distinct constraint counted once.
inline std::int64_t spread_excess(const ClusterSnapshot& cluster) {
  std::map<std::string, std::int64_t> by_rule;
  for (const PodIndex pod : cluster.pods()) {
    const api::Pod& object = cluster.pod(pod);
    if (!runs(cluster, pod)) continue;
    for (const api::TopologySpreadConstraint& each : object.topology_spread) {
      const std::string key = object.meta.ns + "/" + each.topology_key + std::to_string(each.max_skew) +
                              each.label_selector->requirements[0].values[0] +
                              std::to_string(each.min_domains.value_or(0)) +
                              (object.node_selector.empty() ? "" : "ssd");
      if (!by_rule.contains(key)) by_rule[key] = excess_of(cluster, pod, each);
    }
  }
  std::int64_t sum = 0;
  for (const auto& [key, excess] : by_rule) sum += excess;
  return sum;
}

struct Tried {
  std::string strategy;
  std::string args;
  Count violations;
};

inline const std::vector<Tried>& all_tried() {
  static const std::vector<Tried> kAll = {
      {"PodLifeTime", R"({"maxPodLifeTimeSeconds":1800})", pods_with([](const auto& cluster, PodIndex pod) {
         return cluster.pod(pod).meta.creation_timestamp < kNoon - base::minutes(30);
       })},
      {"RemoveFailedPods", "{}",
       pods_with([](const auto& cluster, PodIndex pod) { return cluster.pod(pod).phase == api::PodPhase::kFailed; })},
      {"RemovePodsHavingTooManyRestarts", R"({"podRestartThreshold":3})",
       pods_with([](const auto& cluster, PodIndex pod) { return !cluster.pod(pod).container_statuses.empty(); })},
      {"PodCriteria", R"({"minAgeSeconds":60,"phases":["Running","Failed"],"terminalPods":{"evict":true}})",
       pods_with([](const auto& cluster, PodIndex pod) {
         return cluster.pod(pod).meta.creation_timestamp <= kNoon - base::minutes(1);
       })},
      {"RemovePodsViolatingNodeTaints", R"({"includePreferNoSchedule":true})", pods_with(suffers_taint)},
      {"RemovePodsViolatingNodeAffinity", R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"]})",
       pods_with(misses_selector)},
      {"RemovePodsViolatingNodeAffinity", R"({"nodeAffinityType":["preferredDuringSchedulingIgnoredDuringExecution"]})",
       pods_with(misses_preference)},
      {"RemovePodsViolatingInterPodAntiAffinity", "{}", conflicts},
      {"RemoveDuplicates", "{}", crowding},
      {"LowNodeUtilization", R"({"thresholds":{"cpu":40},"targetThresholds":{"cpu":50}})", overused},
      {"HighNodeUtilization", R"({"thresholds":{"cpu":40}})", wasted},
      {"RemovePodsViolatingTopologySpreadConstraint", "{}", spread_excess},
      {"Defragmentation", "{}", busy},
      // The gain of PreferredPlacement is not one number for all pods (preferred_placement_test.cpp).
      {"PreferredPlacement", "{}", [](const ClusterSnapshot&) { return std::int64_t{0}; }},
  };
  return kAll;
}

/// Returns the cluster after the moves. Each moved pod is recreated on placement_of(move), or stays pending if that is
/// "".
template <typename F>
scheduling::SnapshotInput applied(scheduling::SnapshotInput objects, const planner::Plan& plan, F&& placement_of) {
  std::map<std::string, const api::PlannedMove*> moves;
  for (const api::PlannedMove& move : plan.moves) moves.emplace(move.uid, &move);
  for (auto& pod : objects.pods) {
    const auto at = moves.find(pod->meta.uid);
    if (at == moves.end()) continue;
    const std::string& to = placement_of(*at->second);
    if (to.empty()) {
      pod = nullptr;
      continue;
    }
    api::Pod fresh = *pod;
    fresh.meta.uid += "'";
    fresh.node_name = {to};
    fresh.meta.creation_timestamp = kNoon;
    fresh.container_statuses.clear();
    pod = shared(std::move(fresh));
  }
  std::erase(objects.pods, nullptr);
  return objects;
}

}  // namespace strategy_worlds
