#include "planner/strategies/defragmentation/node_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace strategies {
namespace {

constexpr std::array kResources = {kCpuIndex, kMemoryIndex, kPodsIndex};
// Number of moves that the capacity of an average node is worth.
constexpr std::array kPrices = {1.0, 3.0, 10.0, 30.0, 100.0, 1e6};
constexpr int kMixes = 8;           // number of cpu-to-memory ratios by which nodes are compared
constexpr double kMinShort = 1e-9;  // smaller shares are rounding errors
constexpr double kMinDifference = 0.05;

class NodeChoice {
 public:
  NodeChoice(const DefragmentationProblem& problem, const Capacities& capacities, std::size_t most_moves,
             SearchBudget& budget, Rng& rng)
      : problem_(problem), capacities_(capacities), most_moves_(most_moves), budget_(budget), rng_(rng) {
    for (const FreeableNode& each : problem.freeable()) {
      if (is_worth_it(each)) queue_.push_back(each);
    }
    sort_queue();
  }

  std::vector<bool> make() {
    queue_.resize(kept_by_capacity());
    std::vector<bool> takes(problem_.base().node_count(), false);
    std::vector<bool> chosen = takes;
    for (const NodeIndex node : problem_.taking()) takes[node] = true;
    for (const FreeableNode& each : queue_) takes[each.node] = false;
    Packing packing(problem_, problem_.cluster(), std::move(takes), WorkloadCounts(problem_),
                    {.by_shape = problem_.has_unlike_pods()}, budget_, rng_);
    while (!queue_.empty() && !budget_.is_over() && packing.moves().size() < most_moves_) {
      const NodeIndex next = queue_.front().node;
      if (packing.place_all(problem_.pods_on(next))) {
        chosen[next] = packing.moves().size() <= most_moves_;
        queue_.pop_front();
      } else if (!open_another(packing)) {
        if (problem_.takes(next)) packing.open(next);
        queue_.pop_front();
      }
    }
    return chosen;
  }

 private:
  bool is_worth_it(const FreeableNode& each) const {
    const auto moves = static_cast<double>(problem_.pods_on(each.node).size());
    return moves * problem_.rules().weight_of_move < problem_.rules().weight_of_node;
  }

  /// Sorts by effort, unless another order lets more nodes go in terms of capacity, which may take more moves.
  void sort_queue() {
    sort_by(0, {});
    if (!problem_.rules().empty_first.empty()) return;
    const std::size_t by_effort = kept_by_capacity();
    const CapacityWorth worth = best_worth();
    sort_by(kPrices.back(), worth);
    const std::size_t most = kept_by_capacity();
    for (const double price : kPrices) {
      sort_by(by_effort >= most ? 0 : price, worth);
      if (by_effort >= most || kept_by_capacity() >= most) return;
    }
  }

  /// Returns the weights that let the most nodes go; the largest share of any resource if no mix lets more go.
  CapacityWorth best_worth() {
    CapacityWorth best{};
    sort_by(kPrices.back(), best);
    std::size_t most = kept_by_capacity();
    for (int i = 0; i <= kMixes + 1; ++i) {
      const auto worth = i > kMixes ? kWorthOfPods : worth_of_mix(static_cast<double>(i) / kMixes);
      sort_by(kPrices.back(), worth);
      const std::size_t kept = kept_by_capacity();
      if (kept > most) best = worth;
      most = std::max(most, kept);
    }
    return best;
  }

  /// Sorts the queue. `price` is the number of moves that the capacity of an average node is worth.
  void sort_by(double price, const CapacityWorth& worth) {
    std::ranges::stable_sort(queue_, {}, [&](const FreeableNode& each) {
      return std::tuple(each.rank, each.effort + price * capacities_.worth_of(each.node, worth), each.disturbance,
                        each.node);
    });
  }

  /// Returns how many nodes from the front of the queue can go while the others have capacity for all requests.
  std::size_t kept_by_capacity() const {
    std::vector<NodeIndex> nodes;
    for (const FreeableNode& each : queue_) nodes.push_back(each.node);
    return capacities_.most_of(nodes);
  }

  /// Keeps a node in use that fits the pod without a place, instead of emptying it.
  bool open_another(Packing& packing) {
    std::vector<NodeIndex> nodes;
    for (std::size_t i = 1; i < queue_.size(); ++i) {
      if (problem_.takes(queue_[i].node)) nodes.push_back(queue_[i].node);
    }
    const auto found = packing.last_that_fits(packing.stuck(), nodes);
    if (!found) return false;
    packing.open(nodes[*found]);
    std::erase_if(queue_, [&](const FreeableNode& each) { return each.node == nodes[*found]; });
    return true;
  }

  const DefragmentationProblem& problem_;
  const Capacities& capacities_;
  std::size_t most_moves_;
  SearchBudget& budget_;
  Rng& rng_;
  std::deque<FreeableNode> queue_;
};

void add(CapacityAmounts& to, const CapacityAmounts& amounts, double sign) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += sign * amounts[i];
}

bool is_short(const CapacityAmounts& room) {
  return std::ranges::any_of(room, [](double amount) { return amount < -kMinShort; });
}

template <typename F>
CapacityAmounts amounts_by(F&& amount) {
  CapacityAmounts amounts{};
  std::ranges::transform(kResources, amounts.begin(), [&](auto r) { return static_cast<double>(amount(r)); });
  return amounts;
}

CapacityAmounts offered_by(const DefragmentationProblem& problem, NodeIndex node) {
  return amounts_by([&](ResourceIndex r) { return problem.base().allocatable().get(node, r); });
}

CapacityAmounts free_on(const DefragmentationProblem& problem, NodeIndex node) {
  return amounts_by([&](ResourceIndex r) { return std::max<std::int64_t>(problem.cluster().free(node, r), 0); });
}

/// Capacity that emptying the node takes from the others: requests of its pods, and its own free capacity.
CapacityAmounts taken_by_emptying(const DefragmentationProblem& problem, NodeIndex node) {
  CapacityAmounts taken = problem.takes(node) ? free_on(problem, node) : CapacityAmounts{};
  for (const PodIndex pod : problem.pods_on(node)) {
    const RequestSet& requests = problem.base().requests(pod);
    add(taken, amounts_by([&](ResourceIndex r) { return taken_of(requests, r); }), 1);
  }
  return taken;
}

}  // namespace

Capacities::Capacities(const DefragmentationProblem& problem)
    : offered_(problem.base().node_count()), taken_(problem.base().node_count()) {
  CapacityAmounts sum{};
  for (const NodeIndex node : problem.taking()) add(sum, offered_by(problem, node), 1);
  const auto count = static_cast<double>(std::max<std::size_t>(problem.taking().size(), 1));
  const auto in_shares = [&](CapacityAmounts amounts) {
    for (std::size_t i = 0; i < amounts.size(); ++i) amounts[i] *= sum[i] > 0 ? count / sum[i] : 0;
    return amounts;
  };
  for (const NodeIndex node : problem.taking()) add(free_, in_shares(free_on(problem, node)), 1);
  for (const FreeableNode& each : problem.freeable()) {
    offered_[each.node] = in_shares(offered_by(problem, each.node));
    taken_[each.node] = in_shares(taken_by_emptying(problem, each.node));
    const auto is_average = [](double share) { return std::abs(share - 1) < kMinDifference; };
    differ_ = differ_ || !std::ranges::all_of(offered_[each.node], is_average);
  }
}

double Capacities::worth_of(NodeIndex node, const CapacityWorth& worth) const {
  const CapacityAmounts& offered = offered_[node];
  if (worth == CapacityWorth{}) return std::max(offered[0], offered[1]);
  return std::inner_product(offered.begin(), offered.end(), worth.begin(), 0.0);
}

bool Capacities::suffices_without(const std::vector<bool>& emptying) const {
  CapacityAmounts room = free_;
  for (NodeIndex node = 0; node < emptying.size(); ++node) {
    if (emptying[node]) add(room, taken_[node], -1);
  }
  return !is_short(room);
}

std::size_t Capacities::most_of(std::span<const NodeIndex> nodes) const {
  CapacityAmounts room = free_;
  for (const NodeIndex node : nodes) add(room, taken_[node], -1);
  std::size_t kept = nodes.size();
  while (kept > 0 && is_short(room)) add(room, taken_[nodes[--kept]], 1);
  return kept;
}

std::vector<bool> choose_nodes(const DefragmentationProblem& problem, const Capacities& capacities,
                               std::size_t most_moves, SearchBudget& budget, Rng& rng) {
  return NodeChoice(problem, capacities, most_moves, budget, rng).make();
}

}  // namespace strategies
