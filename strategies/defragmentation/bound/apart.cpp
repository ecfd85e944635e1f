#include "strategies/defragmentation/bound/apart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "scheduling/predicates.hpp"
#include "strategies/defragmentation/bound/spread.hpp"

namespace strategies {
namespace {

using scheduling::ClusterSnapshot;

/// How the nodes looked at are divided by one label.
struct Division {
  bool is_whole = true;    ///< each of them has a domain
  bool is_by_node = true;  ///< and each one of its own
};

class Divisions {
 public:
  explicit Divisions(const DefragmentationProblem& problem) : problem_(problem) {}

  const Division& of(const std::string& label) {
    const auto [at, is_new] = by_label_.try_emplace(label);
    if (is_new) at->second = look(label);
    return at->second;
  }

 private:
  Division look(const std::string& label) const {
    const auto& domain_of = problem_.cluster().topology(label).domain_of;
    std::set<std::uint32_t> seen;
    Division found;
    for (const NodeIndex node : problem_.nodes()) {
      found.is_whole = found.is_whole && domain_of[node] != scheduling::Topology::kNone;
      found.is_by_node = found.is_by_node && seen.insert(domain_of[node]).second;
    }
    return found;
  }

  const DefragmentationProblem& problem_;
  std::map<std::string, Division> by_label_;
};

void add_repelling(const DefragmentationProblem& problem, const ClusterSnapshot::AntiAffineGroup& group,
                   Divisions& divisions, std::vector<PodsApart>& all) {
  const ClusterSnapshot& base = problem.base();
  const PodIndex first = group.front();
  PodsApart apart;
  bool repel = false;
  for (const api::PodAffinityTerm& term : base.pod(first).affinity->required_pod_anti_affinity) {
    const Division& division = divisions.of(std::string(term.topology_key));
    if (!division.is_whole || !scheduling::covers(term, first, first, base)) continue;
    repel = true;
    apart.is_by_node = apart.is_by_node || division.is_by_node;
  }
  if (!repel) return;
  std::ranges::copy_if(group, std::back_inserter(apart.pods),
                       [&](PodIndex pod) { return problem.has_to_stay_somewhere(pod); });
  const api::ObjectMeta& meta = base.pod(first).meta;
  apart.what = fmt::format("{} pods that repel one another, such as {}/{}", apart.pods.size(), meta.ns, meta.name);
  all.push_back(std::move(apart));
}

/// The ports of all addresses alone, each with its protocol: who asks for one gets on a node where nobody else does.
std::set<std::pair<std::int32_t, std::string>> ports_of(const api::Pod& pod) {
  std::set<std::pair<std::int32_t, std::string>> ports;
  for (const api::Container& container : pod.containers) {
    for (const api::HostPort& port : container.host_ports) {
      if (port.ip.empty() || port.ip == "0.0.0.0") ports.emplace(port.port, port.protocol);
    }
  }
  return ports;
}

void add_by_port(const DefragmentationProblem& problem, std::vector<PodsApart>& all) {
  const ClusterSnapshot& base = problem.base();
  std::map<std::pair<std::int32_t, std::string>, std::vector<PodIndex>> pods_at;
  for (const NodeIndex node : problem.nodes()) {
    for (const PodIndex pod : problem.pods_on(node)) {
      if (!base.has_host_ports(pod)) continue;
      for (const auto& port : ports_of(base.pod(pod))) pods_at[port].push_back(pod);
    }
  }
  for (auto& [port, pods] : pods_at) {
    std::string what = fmt::format("{} pods with host port {}", pods.size(), port.first);
    all.push_back({std::move(pods), true, std::move(what)});
  }
}

void add_evenly_spread(const DefragmentationProblem& problem, Divisions& divisions, std::vector<PodsApart>& all) {
  for (const EvenPods& even : evenly_spread(problem)) {
    if (even.pods.size() > even.domains()) continue;
    const api::ObjectMeta& meta = problem.base().pod(even.pods.front()).meta;
    all.push_back({even.pods, divisions.of(even.topology_key).is_by_node,
                   fmt::format("{} pods that are spread evenly, such as {}/{}", even.pods.size(), meta.ns, meta.name)});
  }
}

}  // namespace

std::vector<PodsApart> pods_apart(const DefragmentationProblem& problem) {
  std::vector<PodsApart> all;
  Divisions divisions(problem);
  const ClusterSnapshot& base = problem.base();
  for (scheduling::NamespaceIndex ns = 0; ns < base.namespace_count(); ++ns) {
    for (const auto& group : base.anti_affine_towards(ns)) add_repelling(problem, group, divisions, all);
  }
  add_by_port(problem, all);
  add_evenly_spread(problem, divisions, all);
  return all;
}

}  // namespace strategies
