#include "test/scenarios/fragmentation/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "api/meta/well_known.hpp"

namespace fragmentation {
namespace {

constexpr std::size_t kMaxBroken = 5;
constexpr std::int32_t kSystemCritical = 2'000'000'000;
using Amounts = std::vector<std::int64_t>;  // by resource, in the order of Replay::resources_

std::int64_t units(const api::ResourceList& list, const std::string& resource) {
  const api::Quantity amount = api::amount_of(list, resource);
  return resource == "cpu" ? amount.milli() : amount.units();
}

struct PodState {
  const api::Pod* pod;
  Amounts asked;
  std::set<std::string> on;  ///< two nodes during a move
  bool was_moved = false;
};

struct NodeState {
  const api::Node* node;
  Amounts capacity{};
  Amounts used{};
  std::set<std::string> pods{};
};

class Replay {
 public:
  explicit Replay(const scheduling::SnapshotInput& cluster) : cluster_(cluster) {
    std::set<std::string> names;
    for (const auto& node : cluster.nodes) {
      for (const auto& [name, amount] : node->allocatable) names.insert(std::string(name));
    }
    names.insert("pods");
    resources_.assign(names.begin(), names.end());
    for (const auto& node : cluster.nodes) {
      NodeState state{node.get(), {}, Amounts(resources_.size(), 0)};
      for (const std::string& name : resources_) state.capacity.push_back(units(node->allocatable, name));
      nodes_.emplace(node->meta.name, std::move(state));
    }
    for (const auto& pod : cluster.pods) {
      pods_.emplace(pod->meta.name, PodState{pod.get(), asked_by(*pod), {}});
      by_app_[app_of(*pod)].push_back(pod->meta.name);
      put(pod->meta.name, pod->node_name.value);
    }
  }

  Verdict run(const std::vector<api::PlannedMove>& moves) {
    Verdict verdict;
    verdict.busy_before = busy();
    verdict.bound = verdict.busy_before - needed();
    verdict.moves = static_cast<int>(moves.size());
    for (std::size_t first = 0; first < moves.size();) {
      std::size_t last = first + 1;
      while (last < moves.size() && moves[first].wave > 0 && moves[last].wave == moves[first].wave) ++last;
      if (last < moves.size() && moves[last].wave < moves[first].wave) complain("waves are out of order");
      run_wave({moves.begin() + static_cast<std::ptrdiff_t>(first), moves.begin() + static_cast<std::ptrdiff_t>(last)});
      ++verdict.waves;
      first = last;
    }
    verdict.busy_after = busy();
    verdict.broken = std::move(broken_);
    return verdict;
  }

 private:
  Amounts asked_by(const api::Pod& pod) const {
    Amounts sum;
    for (const std::string& name : resources_) {
      sum.push_back(name == "pods" ? 1 : 0);
      for (const api::Container& container : pod.containers) sum.back() += units(container.requests, name);
    }
    return sum;
  }
  static std::string app_of(const api::Pod& pod) {
    const std::string* app = pod.meta.labels.find("app");
    return app == nullptr ? "" : *app;
  }
  void complain(std::string text) {
    if (broken_.size() < kMaxBroken) broken_.push_back(std::move(text));
  }

  void put(const std::string& pod, const std::string& node) {
    PodState& state = pods_.at(pod);
    NodeState& place = nodes_.at(node);
    if (!state.on.insert(node).second) return;
    place.pods.insert(pod);
    for (std::size_t r = 0; r < resources_.size(); ++r) place.used[r] += state.asked[r];
  }
  void take(const std::string& pod, const std::string& node) {
    PodState& state = pods_.at(pod);
    NodeState& place = nodes_.at(node);
    if (state.on.erase(node) == 0) return;
    place.pods.erase(pod);
    for (std::size_t r = 0; r < resources_.size(); ++r) place.used[r] -= state.asked[r];
  }

  int busy() const {
    return static_cast<int>(std::ranges::count_if(nodes_, [&](const auto& entry) {
      return std::ranges::any_of(entry.second.pods,
                                 [&](const auto& pod) { return !pods_.at(pod).pod->is_daemon_set(); });
    }));
  }

  void run_wave(const std::vector<api::PlannedMove>& moves) {
    std::map<std::string, int> disrupted;
    for (const api::PlannedMove& move : moves) {
      const auto found = pods_.find(move.pod);
      if (found == pods_.end()) return complain(move.pod + " is unknown");
      PodState& state = found->second;
      if (state.was_moved) complain(move.pod + " moves twice");
      if (move.to == move.from) return complain(move.pod + " goes where it is");
      if (!state.on.contains(move.from)) complain(move.pod + " is not on " + move.from);
      if (!nodes_.contains(move.to)) return complain(move.pod + " goes nowhere");
      if (stays(*state.pod) || state.pod->is_daemon_set()) complain(move.pod + " may not move");
      spend(*state.pod, disrupted);
      check_arrival(state, move.to);
      state.was_moved = true;
      put(move.pod, move.to);
      check_room(move.to);
    }
    for (const api::PlannedMove& move : moves) check_affinity(*pods_.at(move.pod).pod, *nodes_.at(move.to).node);
    for (const api::PlannedMove& move : moves) take(move.pod, move.from);
  }

  void spend(const api::Pod& pod, std::map<std::string, int>& disrupted) {
    for (const auto& pdb : cluster_.pdbs) {
      if (!pdb->covers(pod)) continue;
      if (++disrupted[pdb->meta.name] > pdb->disruptions_allowed) complain(pdb->meta.name + " is overdrawn");
    }
  }

  void check_room(const std::string& name) {
    const NodeState& node = nodes_.at(name);
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      if (node.used[r] > node.capacity[r]) complain(fmt::format("{} has too little {}", name, resources_[r]));
    }
  }

  void check_arrival(const PodState& state, const std::string& to) {
    const api::Pod& pod = *state.pod;
    const api::Node& node = *nodes_.at(to).node;
    if (!selects(pod, node)) complain(fmt::format("{} may not be on {}", pod.meta.name, to));
    if (!tolerates(pod, node)) complain(fmt::format("{} does not tolerate {}", pod.meta.name, to));
    check_ports(pod, to);
    check_volumes(pod, node);
    check_anti_affinity(pod, node);
    check_spread(state, node);
  }

  void check_volumes(const api::Pod& pod, const api::Node& node) {
    for (const api::Volume& volume : pod.volumes) {
      for (const auto& pv : cluster_.volumes) {
        if (pv->meta.name != "pv-" + volume.source) continue;
        for (const api::NodeSelectorTerm& term : pv->required_node_terms) {
          for (const auto& each : term.match_expressions) {
            if (!each.matches(node.meta.labels)) complain(fmt::format("{} is far from its volume", pod.meta.name));
          }
        }
      }
    }
  }

  static const std::vector<api::PodAffinityTerm>& terms_of(const api::Pod& pod) {
    static const std::vector<api::PodAffinityTerm> none;
    return pod.affinity ? pod.affinity->required_pod_anti_affinity : none;
  }

  void check_ports(const api::Pod& pod, const std::string& to) {
    const std::set<std::int32_t> ports = ports_of(pod);
    for (const std::string& name : nodes_.at(to).pods) {
      if (name == pod.meta.name) continue;
      for (const std::int32_t port : ports_of(*pods_.at(name).pod)) {
        if (ports.contains(port)) complain(fmt::format("{} finds port {} taken on {}", pod.meta.name, port, to));
      }
    }
  }

  /// Returns true if `one`'s anti-affinity excludes it from `node` because of `two`, which is on `there`.
  bool repels(const api::Pod& one, const api::Pod& two, const api::Node& there, const api::Node& node) const {
    return std::ranges::any_of(terms_of(one), [&](const api::PodAffinityTerm& term) {
      const std::string* domain = node.meta.labels.find(term.topology_key);
      const std::string* other = there.meta.labels.find(term.topology_key);
      return domain != nullptr && other != nullptr && *domain == *other &&
             term.label_selector->matches(two.meta.labels);
    });
  }

  void check_anti_affinity(const api::Pod& pod, const api::Node& node) {
    for (const auto& [name, state] : pods_) {
      const api::Pod& other = *state.pod;
      if (&other == &pod || (terms_of(pod).empty() && terms_of(other).empty())) continue;
      const bool is_repelled = std::ranges::any_of(state.on, [&](const std::string& on) {
        const api::Node& there = *nodes_.at(on).node;
        return repels(pod, other, there, node) || repels(other, pod, node, there);
      });
      if (is_repelled) complain(fmt::format("{} beside {} on {}", pod.meta.name, name, node.meta.name));
    }
  }

  /// Requires that a pod which satisfies the affinity is in the same domain and does not move in this wave: a moving
  /// pod may temporarily be on no node.
  void check_affinity(const api::Pod& pod, const api::Node& node) {
    if (!pod.affinity) return;
    for (const api::PodAffinityTerm& term : pod.affinity->required_pod_affinity) {
      const std::string& domain = *node.meta.labels.find(term.topology_key);
      const bool is_met = std::ranges::any_of(pods_, [&](const auto& entry) {
        const PodState& other = entry.second;
        return other.pod != &pod && other.on.size() == 1 && term.label_selector->matches(other.pod->meta.labels) &&
               *nodes_.at(*other.on.begin()).node->meta.labels.find(term.topology_key) == domain;
      });
      if (!is_met) complain(fmt::format("{} has nobody that it asks for on {}", pod.meta.name, node.meta.name));
    }
  }

  /// Counts like the scheduler at the arrival, both with and without the old pod.
  void check_spread(const PodState& state, const api::Node& node) {
    for (const auto& constraint : state.pod->topology_spread) {
      std::map<std::string, int> counts;
      // nodeAffinityPolicy: nodes that the pod may not use do not count.
      const auto is_counted = [&](const api::Node& each) { return selects(*state.pod, each); };
      for (const auto& [name, each] : nodes_) {
        if (!is_counted(*each.node)) continue;
        if (const std::string* domain = each.node->meta.labels.find(constraint.topology_key)) counts[*domain] += 0;
      }
      for (const std::string& name : by_app_.at(app_of(*state.pod))) {
        for (const std::string& on : pods_.at(name).on) {
          if (pods_.at(name).pod != state.pod && is_counted(*nodes_.at(on).node))
            ++counts[*nodes_.at(on).node->meta.labels.find(constraint.topology_key)];
        }
      }
      const int here = counts.at(*node.meta.labels.find(constraint.topology_key)) + 1;
      const int least = std::ranges::min_element(counts, {}, [](const auto& e) { return e.second; })->second;
      if (here - least > constraint.max_skew)
        complain(fmt::format("{} is skewed on {}", state.pod->meta.name, node.meta.name));
    }
  }

  // --- the bound

  using Places = std::set<std::string>;  ///< names of nodes

  /// Returns the number of nodes that are needed after any moves: for the requests, for pods that cannot share a node,
  /// for pods that stay, and in total for pods that are restricted to disjoint sets of nodes.
  int needed() const {
    Places all;
    for (const auto& [name, node] : nodes_) all.insert(name);
    std::set<std::string> staying;
    for (const auto& [name, state] : pods_) {
      if (!state.pod->is_daemon_set() && stays(*state.pod)) staying.insert(state.pod->node_name.value);
    }
    const ByPlaces by_places = group_by_places();
    return std::max({needed_in(all, by_places), needed_apart(by_places), static_cast<int>(staying.size())});
  }

  using ByPlaces = std::map<Places, std::vector<const PodState*>>;

  /// Returns a key for the nodes that a pod may use, independent of its current node.
  std::string rules_of(const PodState& state) const {
    if (stays(*state.pod)) return "stays on " + state.pod->node_name.value;
    std::string text = fmt::format("{}", static_cast<const void*>(state.pod->affinity.get()));
    for (const auto& [key, value] : state.pod->node_selector) text += fmt::format(" {}={}", key, value);
    for (const api::Toleration& each : state.pod->tolerations)
      text += fmt::format(" {}={}/{}/{}/{}", each.key, each.value, each.exists, static_cast<int>(each.comparison),
                          each.effect ? static_cast<int>(*each.effect) : -1);
    for (std::size_t r = 0; r < resources_.size(); ++r) text += state.asked[r] == 0 ? '0' : '1';
    return text;
  }

  ByPlaces group_by_places() const {
    std::map<std::string, std::vector<const PodState*>> by_rules;
    for (const auto& [name, state] : pods_) {
      if (!state.pod->is_daemon_set()) by_rules[rules_of(state)].push_back(&state);
    }
    ByPlaces by_places;
    for (const auto& [rules, pods] : by_rules) {
      const Places places = places_of(*pods.front());
      std::vector<const PodState*>& inside = by_places[places];
      for (const PodState* state : pods) {
        if (places.contains(state->pod->node_name.value)) {
          inside.push_back(state);
          continue;
        }
        Places own = places;
        own.insert(state->pod->node_name.value);
        by_places[own].push_back(state);
      }
    }
    std::erase_if(by_places, [](const auto& entry) { return entry.second.empty(); });
    return by_places;
  }

  Places places_of(const PodState& state) const {
    if (stays(*state.pod)) return {state.pod->node_name.value};
    Places places;
    for (const auto& [name, node] : nodes_) {
      bool has_all = true;
      for (std::size_t r = 0; r < resources_.size(); ++r)
        has_all = has_all && (state.asked[r] == 0 || node.capacity[r] > 0);
      if (has_all && selects(*state.pod, *node.node) && tolerates(*state.pod, *node.node)) places.insert(name);
    }
    return places;
  }

  /// Returns the sum over disjoint sets of nodes, the smallest sets first.
  int needed_apart(const ByPlaces& by_places) const {
    std::vector<const Places*> sets;
    for (const auto& [places, pods] : by_places) sets.push_back(&places);
    std::ranges::stable_sort(sets, {}, [](const Places* each) { return each->size(); });
    Places taken;
    int sum = 0;
    for (const Places* places : sets) {
      if (std::ranges::any_of(*places, [&](const std::string& node) { return taken.contains(node); })) continue;
      taken.insert(places->begin(), places->end());
      sum += needed_in(*places, by_places);
    }
    return sum;
  }

  /// Returns the number of nodes needed for pods that may not use other nodes.
  int needed_in(const Places& places, const ByPlaces& by_places) const {
    std::vector<const PodState*> pods;
    for (const auto& [each, those] : by_places) {
      if (std::ranges::includes(places, each)) pods.insert(pods.end(), those.begin(), those.end());
    }
    int most = 0;
    for (std::size_t r = 0; r < resources_.size(); ++r) most = std::max(most, needed_for(r, pods, places));
    std::map<std::string, int> alone;
    for (const PodState* state : pods) {
      for (const std::int32_t port : ports_of(*state->pod)) ++alone[fmt::format("port {}", port)];
      const auto repels_itself = [&](const auto& term) {
        return term.label_selector->matches(state->pod->meta.labels);
      };
      if (std::ranges::any_of(terms_of(*state->pod), repels_itself)) ++alone[app_of(*state->pod)];
    }
    for (const auto& [what, count] : alone) most = std::max(most, count);
    return most;
  }

  int needed_for(std::size_t r, const std::vector<const PodState*>& pods, const Places& places) const {
    std::int64_t left = 0;
    std::int64_t divisor = 0;
    for (const PodState* state : pods) {
      left += state->asked[r];
      divisor = std::gcd(divisor, state->asked[r]);
    }
    std::vector<std::int64_t> rooms;
    for (const std::string& name : places) {
      const NodeState& node = nodes_.at(name);
      std::int64_t room = node.capacity[r];
      for (const std::string& pod : node.pods) room -= pods_.at(pod).pod->is_daemon_set() ? pods_.at(pod).asked[r] : 0;
      rooms.push_back(divisor > 0 ? room / divisor * divisor : room);
    }
    std::ranges::sort(rooms, std::greater{});
    int count = 0;
    for (std::size_t i = 0; i < rooms.size() && left > 0; ++i, ++count) left -= rooms[i];
    return count;
  }

  const scheduling::SnapshotInput& cluster_;
  std::vector<std::string> resources_;
  std::map<std::string, NodeState> nodes_;
  std::map<std::string, PodState> pods_;  ///< names are unique in these clusters
  std::map<std::string, std::vector<std::string>> by_app_;
  std::vector<std::string> broken_;
};

}  // namespace

std::set<std::int32_t> ports_of(const api::Pod& pod) {
  std::set<std::int32_t> ports;
  for (const api::Container& container : pod.containers) {
    for (const api::HostPort& port : container.host_ports) ports.insert(port.port);
  }
  return ports;
}

bool selects(const api::Pod& pod, const api::Node& node) {
  const auto has = [&](const auto& wanted) {
    const std::string* value = node.meta.labels.find(wanted.first);
    return value != nullptr && *value == wanted.second;
  };
  const auto holds = [&](const api::NodeSelectorTerm& term) {
    return std::ranges::all_of(term.match_expressions, [&](const auto& e) { return e.matches(node.meta.labels); });
  };
  return std::ranges::all_of(pod.node_selector, has) &&
         (!pod.affinity || !pod.affinity->required_node_terms ||
          std::ranges::any_of(*pod.affinity->required_node_terms, holds));
}

bool tolerates(const api::Pod& pod, const api::Node& node) {
  return std::ranges::all_of(node.taints, [&](const api::Taint& taint) {
    const auto covers = [&](const api::Toleration& each) { return each.tolerates(taint); };
    return taint.effect == api::TaintEffect::kPreferNoSchedule || std::ranges::any_of(pod.tolerations, covers);
  });
}

bool stays(const api::Pod& pod) { return pod.meta.owner_references.empty() || pod.priority >= kSystemCritical; }

Verdict judge(const scheduling::SnapshotInput& cluster, const std::vector<api::PlannedMove>& moves) {
  return Replay(cluster).run(moves);
}

}  // namespace fragmentation
