#include "planner/strategies/defragmentation/bound/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/strategies/defragmentation/bound/apart.hpp"
#include "planner/strategies/defragmentation/bound/mixes.hpp"
#include "planner/strategies/defragmentation/bound/node_pools.hpp"

namespace strategies {
namespace {

void raise(LowerBound& bound, std::size_t needed, const std::function<std::string()>& reason) {
  if (needed <= bound.needed) return;
  bound.needed = needed;
  bound.reason = reason();
}

/// Sums of requests by resource. Computes sums only for requested resources, because users can invent thousands of
/// resource names.
class Demand {
 public:
  explicit Demand(const DefragmentationProblem& problem)
      : problem_(problem), sets_(problem.base().request_set_count()), by_resource_(problem.base().resources().size()) {
    for (const NodeIndex node : problem.nodes()) {
      for (const PodIndex pod : problem.pods_on(node)) add(pod, node);
    }
    for (Set& set : sets_) {
      if (set.nodes.empty()) continue;
      for (const auto& [resource, amount] : problem.base().requests(set.pod)) {
        if (amount > 0 && resource != kPodsIndex) by_resource_[resource].push_back({&set, amount});
      }
      by_resource_[kPodsIndex].push_back({&set, 1000});
    }
  }

  /// Upper bound: each pod that requests the resource on its own node.
  std::size_t most_nodes(ResourceIndex resource) const {
    std::size_t pods = 0;
    for (const auto& [set, amount] : by_resource_[resource]) pods += set->nodes.size();
    return problem_.held_nodes() + pods;
  }

  /// Minimum number of nodes that can hold all requests for the resource. If all pods request multiples of some amount,
  /// the remainder of each node stays unused.
  std::size_t nodes_needed(ResourceIndex resource) const {
    std::vector<std::int64_t> capacity = free_of(resource);
    std::int64_t left = 0;
    std::int64_t divisor = 0;
    for (const auto& [set, amount] : by_resource_[resource]) {
      divisor = std::gcd(divisor, amount);
      for (const NodeIndex node : set->nodes) {
        left = saturating_add(left, amount);
        capacity[node] = saturating_add(capacity[node], amount);
      }
    }
    for (std::int64_t& each : capacity) each = each / divisor * divisor;
    return problem_.held_nodes() + nodes_beside_held(std::move(capacity), left);
  }

  /// Minimum number of nodes by cpu and memory combined with weights `cpu` and 1 - `cpu`, because a node with much of
  /// one may lack the other.
  std::size_t nodes_needed_by_mix(double cpu) const {
    std::vector<double> capacity(problem_.base().node_count(), 0);
    double left = 0;
    for (const auto& [resource, weight] : weights_of_mix(cpu)) {
      const std::vector<std::int64_t> free = free_of(resource);
      const double unit = weight / average_offer(problem_, resource);
      for (const NodeIndex node : problem_.nodes()) capacity[node] += unit * static_cast<double>(free[node]);
      for (const auto& [set, amount] : by_resource_[resource]) {
        left += unit * static_cast<double>(amount) * static_cast<double>(set->nodes.size());
        for (const NodeIndex node : set->nodes) capacity[node] += unit * static_cast<double>(amount);
      }
    }
    return problem_.held_nodes() + nodes_beside_held(rounded_up(capacity), rounded_down(left));
  }

 private:
  struct Set {
    PodIndex pod = kNoPod;           ///< one pod of the set
    std::vector<NodeIndex> nodes{};  ///< one entry per pod
  };

  void add(PodIndex pod, NodeIndex node) {
    Set& set = sets_[problem_.base().request_set_of(pod)];
    set.pod = pod;
    set.nodes.push_back(node);
  }

  /// Free capacity indexed by node. Never negative, because existing pods may stay even on overcommitted nodes.
  std::vector<std::int64_t> free_of(ResourceIndex resource) const {
    std::vector<std::int64_t> free(problem_.base().node_count(), 0);
    for (const NodeIndex node : problem_.nodes())
      free[node] = std::max<std::int64_t>(problem_.cluster().free(node, resource), 0);
    return free;
  }

  std::size_t nodes_beside_held(std::vector<std::int64_t> capacity, std::int64_t left) const {
    std::vector<std::int64_t> others;
    for (const NodeIndex node : problem_.nodes()) {
      if (problem_.is_held(node)) left = saturating_subtract(left, capacity[node]);
      if (!problem_.is_held(node) && capacity[node] > 0) others.push_back(capacity[node]);
    }
    if (left <= 0) return 0;
    std::ranges::sort(others, std::greater{});
    std::size_t count = 0;
    for (; count < others.size() && left > 0; ++count) left = saturating_subtract(left, others[count]);
    return count;
  }

  const DefragmentationProblem& problem_;
  std::vector<Set> sets_;
  std::vector<std::vector<std::pair<const Set*, std::int64_t>>> by_resource_;
};

}  // namespace

LowerBound lower_bound_of(const DefragmentationProblem& problem, const std::function<bool()>& should_stop) {
  LowerBound bound;
  const ClusterSnapshot& base = problem.base();
  for (const NodeIndex node : problem.nodes()) bound.busy += problem.pods_on(node).empty() ? 0 : 1;
  raise(bound, problem.held_nodes(),
        [&] { return fmt::format("{} nodes with pods that may not leave", problem.held_nodes()); });
  const Demand demand(problem);
  for (ResourceIndex resource = 0; resource < base.resources().size() && !should_stop(); ++resource) {
    if (demand.most_nodes(resource) <= bound.needed) continue;
    raise(bound, demand.nodes_needed(resource),
          [&] { return "requests of " + std::string(base.resources().name(resource)); });
  }
  for (int i = 1; i < kMixParts && !should_stop(); ++i)
    raise(bound, demand.nodes_needed_by_mix(static_cast<double>(i) / kMixParts),
          [] { return std::string("requests of cpu and memory together"); });
  const std::vector<PodsApart> apart = pods_apart(problem);
  for (const PodsApart& each : apart) raise(bound, nodes_apart(problem, each.pods), [&] { return each.what; });
  const std::vector<EvenPods> even = evenly_spread(problem);
  for (const EvenPods& each : even)
    raise(bound, std::min(each.domains(), each.pods.size()), [] { return std::string("pods that are spread evenly"); });
  raise(bound, nodes_needed_by_pools(problem, even, apart, should_stop), [&] {
    return std::string(even.empty() ? "requests of pods that can run on some nodes only"
                                    : "requests of pods that can run on some nodes only, or are spread evenly");
  });
  bound.needed = std::min(bound.needed, bound.busy);
  return bound;
}

}  // namespace strategies
