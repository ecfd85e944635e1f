#pragma once

/// Complete visible contents of a snapshot as text, for comparison of two snapshots.

#include <map>
#include <string>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace builders {

/// Renumbers arbitrary numbers (owners, sets of requests) in order of first use.
class Renamed {
 public:
  std::string operator()(std::uint32_t number) {
    return std::to_string(names_.try_emplace(number, names_.size()).first->second);
  }

 private:
  std::map<std::uint32_t, std::size_t> names_;
};

inline std::string list_of(const auto& numbers) {
  std::string text;
  for (const std::uint32_t number : numbers) text += " " + std::to_string(number);
  return text;
}

/// Names pods by rank, because equal snapshots may leave different numbers unused.
class RankedPods {
 public:
  explicit RankedPods(const scheduling::ClusterSnapshot& cluster) : rank_(cluster.pod_table_size(), "?") {
    std::size_t next = 0;
    for (const scheduling::PodIndex pod : cluster.pods()) rank_.at(pod) = std::to_string(next++);
    if (next != cluster.pod_count()) rank_.assign(rank_.size(), "MISCOUNTED");
  }
  const std::string& operator()(scheduling::PodIndex pod) const { return rank_.at(pod); }
  std::string list_of(const auto& pods) const {
    std::string text;
    for (const scheduling::PodIndex pod : pods) text += " " + rank_.at(pod);
    return text;
  }

 private:
  std::vector<std::string> rank_;
};

inline std::string amounts_of(const scheduling::ClusterSnapshot& cluster, const auto& amount_of) {
  std::map<std::string_view, std::int64_t> by_name;
  for (scheduling::ResourceIndex i = 0; i < cluster.resources().size(); ++i) {
    if (const std::int64_t amount = amount_of(i)) by_name[cluster.resources().name(i)] = amount;
  }
  std::string text;
  for (const auto& [name, amount] : by_name) text += " " + std::string(name) + "=" + std::to_string(amount);
  return text;
}

inline std::string picture_of_nodes(const scheduling::ClusterSnapshot& cluster) {
  const RankedPods ranked(cluster);
  std::string text;
  for (const scheduling::NodeIndex node : cluster.nodes()) {
    const api::Node& object = cluster.node(node);
    text += "node " + object.meta.name + (object.unschedulable ? " cordoned" : "") +
            (cluster.is_schedulable_by_all(node) ? " schedulable" : "") + ":" + ranked.list_of(cluster.pods_on(node)) +
            " used" + amounts_of(cluster, [&](auto i) { return cluster.used().get(node, i); }) + " of" +
            amounts_of(cluster, [&](auto i) { return cluster.allocatable().get(node, i); }) +
            (cluster.find_node(object.meta.name) == node ? "\n" : " NOT FOUND\n");
  }
  return text + "unscheduled" + ranked.list_of(cluster.unscheduled_pods()) + "\n";
}

inline std::string picture_of_pods(const scheduling::ClusterSnapshot& cluster) {
  const RankedPods ranked(cluster);
  std::string text;
  Renamed owners;
  Renamed requests;
  Renamed images;
  for (const scheduling::PodIndex pod : cluster.pods()) {
    const api::Pod& object = cluster.pod(pod);
    const auto owner = cluster.owner_of(pod);
    const auto main = cluster.main_owner_of(pod);
    const auto found = cluster.find_pod(object.meta.ns, object.meta.name);
    text += ranked(pod) + " " + object.meta.key().to_string() + " " + object.meta.uid + " v" +
            object.meta.resource_version + " node " + std::to_string(cluster.node_of(pod)) + " ns " +
            std::to_string(cluster.namespace_of(pod)) + " group " + std::to_string(cluster.label_group_of(pod)) +
            (cluster.is_active(pod) ? " active" : "") + (cluster.is_staying(pod) ? " staying" : "") +
            (cluster.is_daemon_set(pod) ? " daemon" : "") + (cluster.is_mirror(pod) ? " mirror" : "") +
            (cluster.has_host_ports(pod) ? " ports" : "") + " owner " +
            (owner ? owners(*owner) + (*owner < cluster.owner_count() ? "" : "?") : "none") + " main " +
            (main ? owners(*main) : "none") + " images " + images(cluster.images_of(pod)) + " created " +
            std::to_string(cluster.created_at(pod).time_since_epoch().count()) + " siblings " +
            std::to_string(cluster.siblings(pod)) + "/" + std::to_string(cluster.living_siblings(pod)) + " requests " +
            requests(cluster.request_set_of(pod)) +
            amounts_of(cluster, [&](auto i) { return scheduling::amount_of(cluster.requests(pod), i); }) +
            (found && cluster.pod(*found).meta.name == object.meta.name ? "\n" : " NOT FOUND\n");
  }
  return text + "by name" + ranked.list_of(cluster.pods_by_name()) + "\naffinity" +
         ranked.list_of(cluster.affinity_pods()) + "\n";
}

inline std::string picture_of_namespaces(const scheduling::ClusterSnapshot& cluster) {
  const RankedPods ranked(cluster);
  std::string text;
  for (scheduling::NamespaceIndex ns = 0; ns < cluster.namespace_count(); ++ns) {
    const api::Namespace* object = cluster.namespace_object(ns);
    const std::string name(cluster.namespace_name(ns));
    text += "namespace " + name + (object ? " v" + object->meta.resource_version : "") +
            (cluster.find_namespace(name) == ns ? "" : " NOT FOUND") + ":" + ranked.list_of(cluster.pods_in(ns)) +
            " budgets" + list_of(cluster.pdbs_in(ns)) + "\n";
    for (const auto& group : cluster.label_groups(ns)) {
      text += "  group";
      for (const auto& [key, value] : *group.labels) text.append(" ").append(key).append("=").append(value);
      text += ":" + ranked.list_of(group.pods) + "\n";
    }
    for (const auto& group : cluster.anti_affinity_groups_selecting(ns))
      text += "  anti-affine" + ranked.list_of(group) + "\n";
  }
  for (const auto& group : cluster.anti_affine_by_namespace_labels())
    text += "anti-affine" + ranked.list_of(group) + "\n";
  return text;
}

inline std::string picture_of(const scheduling::ClusterSnapshot& cluster) {
  std::string text = picture_of_nodes(cluster) + picture_of_pods(cluster) + picture_of_namespaces(cluster);
  for (const auto& pdb : cluster.pdbs()) {
    text += "budget " + pdb->meta.name + " " + std::to_string(pdb->disruptions_allowed) + "\n";
  }
  for (const auto& problem : cluster.problems().rows()) text += problem.to_string() + "\n";
  return text + std::to_string(cluster.problems().total()) + " problems" +
         (cluster.fixed_quantities() ? ", fixed\n" : "\n");
}

}  // namespace builders
