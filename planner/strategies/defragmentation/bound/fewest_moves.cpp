#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <set>

#include "planner/strategies/defragmentation/bound/apart.hpp"
#include "planner/strategies/defragmentation/bound/bound.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxSets = 50;         // maximum number of sets of pods kept apart; the largest ones
constexpr std::size_t kMaxSizes = 4;         // maximum number of pod sizes per set
constexpr std::int64_t kMaxDepartures = 12;  // larger numbers are not distinguished; no pod makes that much capacity
constexpr std::array kResources = {kCpuIndex, kMemoryIndex, kPodsIndex};

/// Number of pods that must leave a node before another one fits.
class Departures {
 public:
  explicit Departures(const DefragmentationProblem& problem) : problem_(problem), free_(problem.base().node_count()) {
    for (const NodeIndex node : problem.nodes()) {
      for (std::size_t i = 0; i < kResources.size(); ++i) free_[node][i] = rooms(node, kResources[i]);
    }
  }

  /// Returns a lower bound. kMaxDepartures means at least that many, or never.
  std::int64_t needed(NodeIndex node, PodIndex pod) const {
    if (!problem_.takes(node)) return kMaxDepartures;
    std::int64_t most = 0;
    for (std::size_t i = 0; i < kResources.size() && most < kMaxDepartures; ++i) {
      const std::int64_t wanted = taken_of(problem_.base().requests(pod), kResources[i]);
      const std::vector<std::int64_t>& rooms = free_[node][i];
      while (wanted > 0 && most < kMaxDepartures &&
             rooms[std::min(static_cast<std::size_t>(most), rooms.size() - 1)] < wanted)
        ++most;
    }
    return most;
  }

 private:
  /// Free capacity after 0, 1, 2, … pods have left, those with the largest requests first.
  std::vector<std::int64_t> rooms(NodeIndex node, ResourceIndex resource) const {
    std::vector<std::int64_t> amounts;
    for (const PodIndex pod : problem_.pods_on(node))
      amounts.push_back(taken_of(problem_.cluster().requests_on(pod, node), resource));
    std::ranges::sort(amounts, std::greater{});
    std::vector<std::int64_t> rooms = {problem_.cluster().free(node, resource)};
    for (std::size_t i = 0; i < amounts.size() && i + 1 < kMaxDepartures; ++i)
      rooms.push_back(saturating_add(rooms.back(), amounts[i]));
    return rooms;
  }

  const DefragmentationProblem& problem_;
  std::vector<std::array<std::vector<std::int64_t>, kResources.size()>> free_;  ///< indexed by node
};

class FewestMoves {
 public:
  explicit FewestMoves(const DefragmentationProblem& problem) : problem_(problem), departures_(problem) {
    for (const FreeableNode& each : problem.freeable()) {
      const std::size_t pods = problem.pods_on(each.node).size();
      if (pods == 0) continue;
      nodes_.push_back(each.node);
      moves_.push_back(static_cast<std::int64_t>(pods));
    }
    fewest_.assign(nodes_.size() + 1, 0);
    raise(moves_, 0);
  }

  /// Raises the bounds by pods kept apart, using subsets of pods with at least the requests of one of them.
  void raise_by(const std::vector<PodIndex>& apart) {
    std::set<std::uint32_t> sizes;
    for (const PodIndex pod : apart) {
      if (sizes.size() == kMaxSizes) return;
      if (sizes.insert(problem_.base().request_set_of(pod)).second) raise_by(apart, pod);
    }
  }

  std::vector<std::size_t> result() const { return {fewest_.begin(), fewest_.end()}; }

 private:
  void raise_by(const std::vector<PodIndex>& apart, PodIndex least) {
    std::vector<std::int64_t> leaving(problem_.base().node_count(), 0);
    std::vector<std::int64_t> departures(leaving.size(), kMaxDepartures);
    for (const NodeIndex node : problem_.nodes()) departures[node] = departures_.needed(node, least);
    for (const PodIndex pod : apart) {
      const NodeIndex node = problem_.cluster().node_of(pod);
      const bool counts = asks_for_as_much(pod, least);
      leaving[node] += counts ? 1 : 0;
      departures[node] = counts ? kMaxDepartures : std::max<std::int64_t>(departures[node], 1);
    }
    for (std::int64_t price = 1; price <= kMaxDepartures; ++price) raise_by(leaving, departures, price);
  }

  /// Uses the dual of the bound: `leaving` pods take the nodes with the fewest departures, which cost at least `price`
  /// per pod minus what the remaining nodes are cheaper.
  void raise_by(const std::vector<std::int64_t>& leaving, const std::vector<std::int64_t>& departures,
                std::int64_t price) {
    const auto saved = [&](NodeIndex node) { return std::max<std::int64_t>(price - departures[node], 0); };
    std::int64_t cheaper = 0;
    for (const NodeIndex node : problem_.nodes()) cheaper += saved(node);
    std::vector<std::int64_t> costs = moves_;
    for (std::size_t i = 0; i < nodes_.size(); ++i) costs[i] += price * leaving[nodes_[i]] + saved(nodes_[i]);
    raise(costs, cheaper);
  }

  bool asks_for_as_much(PodIndex pod, PodIndex least) const {
    const auto& base = problem_.base();
    if (base.request_set_of(pod) == base.request_set_of(least)) return true;
    return std::ranges::all_of(base.requests(least), [&](const auto& request) {
      return amount_of(base.requests(pod), request.first) >= request.second;
    });
  }

  /// Raises the bounds by taking nodes in ascending order of cost, minus `cheaper` in total.
  void raise(const std::vector<std::int64_t>& costs, std::int64_t cheaper) {
    std::vector<std::size_t> with_cost(costs.empty() ? 0 : static_cast<std::size_t>(std::ranges::max(costs)) + 1, 0);
    for (const std::int64_t cost : costs) ++with_cost[static_cast<std::size_t>(cost)];
    std::int64_t sum = -cheaper;
    std::size_t freed = 0;
    for (std::size_t cost = 0; cost < with_cost.size(); ++cost) {
      for (std::size_t i = 0; i < with_cost[cost]; ++i) {
        sum += static_cast<std::int64_t>(cost);
        ++freed;
        fewest_[freed] = std::max(fewest_[freed], sum);
      }
    }
  }

  const DefragmentationProblem& problem_;
  Departures departures_;
  std::vector<NodeIndex> nodes_;     ///< nodes that can be freed
  std::vector<std::int64_t> moves_;  ///< number of pods on each of nodes_
  std::vector<std::int64_t> fewest_;
};

}  // namespace

std::vector<std::size_t> fewest_moves(const DefragmentationProblem& problem, const std::function<bool()>& should_stop) {
  FewestMoves moves(problem);
  const std::vector<PodsApart> apart = pods_apart(problem);
  std::vector<const PodsApart*> sets;
  for (const PodsApart& each : apart) {
    if (each.is_by_node && each.pods.size() > 1) sets.push_back(&each);
  }
  std::ranges::stable_sort(sets, std::greater{}, [](const PodsApart* each) { return each->pods.size(); });
  for (std::size_t i = 0; i < std::min(sets.size(), kMaxSets) && !should_stop(); ++i) moves.raise_by(sets[i]->pods);
  return moves.result();
}

}  // namespace strategies
