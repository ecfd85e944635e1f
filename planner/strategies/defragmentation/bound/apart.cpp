#include "planner/strategies/defragmentation/bound/apart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "planner/scheduling/predicates.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxGroups = 64;  // maximum number of groups compared with each other

/// Partition of the nodes in scope by one label.
struct Division {
  bool is_whole = true;    ///< every node has a domain
  bool is_by_node = true;  ///< every node has a domain of its own
};

class Divisions {
 public:
  explicit Divisions(const DefragmentationProblem& problem) : problem_(problem) {}

  const Division& of(const std::string& label) {
    static constexpr Division kNowhere{false, false};
    if (problem_.cluster().topology(label).domain_names.empty()) return kNowhere;
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
      found.is_whole = found.is_whole && domain_of[node] != Topology::kNone;
      found.is_by_node = found.is_by_node && seen.insert(domain_of[node]).second;
    }
    return found;
  }

  const DefragmentationProblem& problem_;
  std::map<std::string, Division> by_label_;
};

/// Pods that repel each other, within a group or across several groups.
class Repelling {
 public:
  explicit Repelling(const DefragmentationProblem& problem, Divisions& divisions)
      : problem_(problem), base_(problem.base()), divisions_(divisions) {
    for (NamespaceIndex ns = 0; ns < base_.namespace_count(); ++ns) {
      for (const auto& group : base_.anti_affinity_groups_selecting(ns)) add(group);
    }
  }

  void add_to(std::vector<PodsApart>& all) const {
    for (const Group& group : groups_) all.push_back(together({&group}));
    if (groups_.size() > kMaxGroups) return;
    for (const Group& first : groups_) {
      const std::vector<const Group*> several = with_others(first);
      if (several.size() > 1 && *std::ranges::min_element(several) == &first) all.push_back(together(several));
    }
  }

 private:
  struct Group {
    PodIndex first;
    bool is_by_node;
    std::vector<PodIndex> pods;  ///< pods that have to stay somewhere
  };

  void add(const ClusterSnapshot::AntiAffineGroup& group) {
    const PodIndex first = group.front();
    const auto is_by_node = known_.insert(first).second ? repels(first, first) : std::nullopt;
    if (!is_by_node) return;
    Group found{first, *is_by_node, {}};
    std::ranges::copy_if(group, std::back_inserter(found.pods),
                         [&](PodIndex pod) { return problem_.has_to_stay_somewhere(pod); });
    groups_.push_back(std::move(found));
  }

  /// Returns nullopt if `one` does not repel `other` in all domains; true if they are kept apart by node, false if by
  /// larger domains.
  std::optional<bool> repels(PodIndex one, PodIndex other) const {
    std::optional<bool> found;
    for (const api::PodAffinityTerm& term : base_.pod(one).affinity->required_pod_anti_affinity) {
      const Division& division = divisions_.of(std::string(term.topology_key));
      if (division.is_whole && scheduling::covers(term, one, other, base_))
        found = found.value_or(false) || division.is_by_node;
    }
    return found;
  }
  bool are_apart(const Group& one, const Group& other) const {
    return repels(one.first, other.first) || repels(other.first, one.first);
  }

  /// Returns groups that all repel each other, starting with `first`.
  std::vector<const Group*> with_others(const Group& first) const {
    std::vector<const Group*> several = {&first};
    for (const Group& other : groups_) {
      const auto is_apart = [&](const Group* each) { return each != &other && are_apart(*each, other); };
      if (std::ranges::all_of(several, is_apart)) several.push_back(&other);
    }
    return several;
  }

  PodsApart together(const std::vector<const Group*>& groups) const {
    PodsApart apart;
    apart.is_by_node = groups.size() == 1 && groups.front()->is_by_node;
    for (const Group* each : groups) apart.pods.insert(apart.pods.end(), each->pods.begin(), each->pods.end());
    const api::ObjectMeta& meta = base_.pod(groups.front()->first).meta;
    apart.what = fmt::format("{} pods with anti-affinity against each other, such as {}/{}", apart.pods.size(), meta.ns,
                             meta.name);
    return apart;
  }

  const DefragmentationProblem& problem_;
  const ClusterSnapshot& base_;
  Divisions& divisions_;
  std::vector<Group> groups_;
  std::set<PodIndex> known_;  ///< first pods of groups already examined
};

/// Host ports that bind all addresses, with their protocol. Only one pod per node can have such a port.
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
  Repelling(problem, divisions).add_to(all);
  add_by_port(problem, all);
  add_evenly_spread(problem, divisions, all);
  return all;
}

std::size_t nodes_apart(const DefragmentationProblem& problem, const std::vector<PodIndex>& pods) {
  std::set<NodeIndex> nodes;
  for (const PodIndex pod : pods) nodes.insert(problem.cluster().node_of(pod));
  return nodes.size();
}

}  // namespace strategies
