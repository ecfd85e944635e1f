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

constexpr std::size_t kMostBroken = 5;
constexpr std::int32_t kSystemCritical = 2'000'000'000;
constexpr std::array<std::string_view, 3> kResources = {"cpu", "memory", "pods"};
using Amounts = std::array<std::int64_t, kResources.size()>;

std::int64_t units(const api::ResourceList& list, std::size_t resource) {
  const api::Quantity amount = api::amount_of(list, kResources[resource]);
  return resource == 0 ? amount.milli() : amount.units();
}

Amounts asked_by(const api::Pod& pod) {
  Amounts sum{0, 0, 1};
  for (const api::Container& container : pod.containers) {
    for (std::size_t r = 0; r < 2; ++r) sum[r] += units(container.requests, r);
  }
  return sum;
}

struct PodState {
  const api::Pod* pod;
  Amounts asked;
  std::set<std::string> on;  ///< two nodes while it is on its way
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
    for (const auto& node : cluster.nodes) {
      NodeState state{node.get()};
      for (std::size_t r = 0; r < kResources.size(); ++r) state.capacity[r] = units(node->allocatable, r);
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
  static std::string app_of(const api::Pod& pod) {
    const std::string* app = pod.meta.labels.find("app");
    return app == nullptr ? "" : *app;
  }
  void complain(std::string text) {
    if (broken_.size() < kMostBroken) broken_.push_back(std::move(text));
  }

  void put(const std::string& pod, const std::string& node) {
    PodState& state = pods_.at(pod);
    NodeState& place = nodes_.at(node);
    if (!state.on.insert(node).second) return;
    place.pods.insert(pod);
    for (std::size_t r = 0; r < kResources.size(); ++r) place.used[r] += state.asked[r];
  }
  void take(const std::string& pod, const std::string& node) {
    PodState& state = pods_.at(pod);
    NodeState& place = nodes_.at(node);
    if (state.on.erase(node) == 0) return;
    place.pods.erase(pod);
    for (std::size_t r = 0; r < kResources.size(); ++r) place.used[r] -= state.asked[r];
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
      if (!state.on.contains(move.from)) complain(move.pod + " is not on " + move.from);
      if (!nodes_.contains(move.to)) return complain(move.pod + " goes nowhere");
      if (stays(*state.pod) || state.pod->is_daemon_set()) complain(move.pod + " may not move");
      spend(*state.pod, disrupted);
      check_arrival(state, move.to);
      state.was_moved = true;
      put(move.pod, move.to);
      check_room(move.to);
    }
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
    for (std::size_t r = 0; r < kResources.size(); ++r) {
      if (node.used[r] > node.capacity[r]) complain(fmt::format("{} has too little {}", name, kResources[r]));
    }
  }

  void check_arrival(const PodState& state, const std::string& to) {
    const api::Pod& pod = *state.pod;
    const api::Node& node = *nodes_.at(to).node;
    for (const auto& [key, value] : pod.node_selector) {
      const std::string* has = node.meta.labels.find(key);
      if (has == nullptr || *has != value) complain(fmt::format("{} may not be on {}", pod.meta.name, to));
    }
    for (const api::Taint& taint : node.taints) {
      const auto tolerates = [&](const api::Toleration& each) { return each.tolerates(taint); };
      if (taint.effect != api::TaintEffect::kPreferNoSchedule && std::ranges::none_of(pod.tolerations, tolerates))
        complain(fmt::format("{} does not tolerate {}", pod.meta.name, to));
    }
    check_volumes(pod, node);
    check_anti_affinity(pod, node);
    check_affinity(pod, node);
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

  /// Domains of one node only, as all anti-affinities here.
  void check_anti_affinity(const api::Pod& pod, const api::Node& node) {
    for (const std::string& name : nodes_.at(node.meta.name).pods) {
      const api::Pod& other = *pods_.at(name).pod;
      if (&other == &pod) continue;
      const auto repels = [](const api::Pod& one, const api::Pod& two) {
        return std::ranges::any_of(terms_of(one),
                                   [&](const auto& term) { return term.label_selector->matches(two.meta.labels); });
      };
      if (repels(pod, other) || repels(other, pod))
        complain(fmt::format("{} beside {} on {}", pod.meta.name, name, node.meta.name));
    }
  }

  /// Somebody that it asks for is in the same domain.
  void check_affinity(const api::Pod& pod, const api::Node& node) {
    if (!pod.affinity) return;
    for (const api::PodAffinityTerm& term : pod.affinity->required_pod_affinity) {
      const std::string& domain = *node.meta.labels.find(term.topology_key);
      const bool is_met = std::ranges::any_of(pods_, [&](const auto& entry) {
        const auto is_there = [&](const std::string& on) {
          return *nodes_.at(on).node->meta.labels.find(term.topology_key) == domain;
        };
        return entry.second.pod != &pod && term.label_selector->matches(entry.second.pod->meta.labels) &&
               std::ranges::any_of(entry.second.on, is_there);
      });
      if (!is_met) complain(fmt::format("{} has nobody that it asks for on {}", pod.meta.name, node.meta.name));
    }
  }

  /// As the scheduler counts at the arrival, with the old pod gone or not.
  void check_spread(const PodState& state, const api::Node& node) {
    for (const auto& constraint : state.pod->topology_spread) {
      std::map<std::string, int> counts;
      // nodeAffinityPolicy: nodes that the pod may not be on do not count.
      const auto is_counted = [&](const api::Node& each) {
        return std::ranges::all_of(state.pod->node_selector, [&](const auto& wanted) {
          const std::string* has = each.meta.labels.find(wanted.first);
          return has != nullptr && *has == wanted.second;
        });
      };
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

  /// Nodes that are needed whatever moves: for what is requested, for pods that cannot share, for pods that stay.
  int needed() const {
    int most = 0;
    for (std::size_t r = 0; r < kResources.size(); ++r) most = std::max(most, needed_for(r));
    std::map<std::string, int> repelling;
    std::set<std::string> staying;
    for (const auto& [name, state] : pods_) {
      if (!terms_of(*state.pod).empty()) ++repelling[app_of(*state.pod)];
      if (stays(*state.pod) && !state.pod->is_daemon_set()) staying.insert(state.pod->node_name.value);
    }
    for (const auto& [app, count] : repelling) most = std::max(most, count);
    return std::max(most, static_cast<int>(staying.size()));
  }

  int needed_for(std::size_t r) const {
    std::int64_t left = 0;
    std::int64_t divisor = 0;
    for (const auto& [name, state] : pods_) {
      if (state.pod->is_daemon_set()) continue;
      left += state.asked[r];
      divisor = std::gcd(divisor, state.asked[r]);
    }
    std::vector<std::int64_t> rooms;
    for (const auto& [name, node] : nodes_) {
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
  std::map<std::string, NodeState> nodes_;
  std::map<std::string, PodState> pods_;  ///< names are unique here
  std::map<std::string, std::vector<std::string>> by_app_;
  std::vector<std::string> broken_;
};

}  // namespace

bool stays(const api::Pod& pod) { return pod.meta.owner_references.empty() || pod.priority >= kSystemCritical; }

Verdict judge(const scheduling::SnapshotInput& cluster, const std::vector<api::PlannedMove>& moves) {
  return Replay(cluster).run(moves);
}

}  // namespace fragmentation
