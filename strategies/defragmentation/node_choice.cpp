#include "strategies/defragmentation/node_choice.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace strategies {
namespace {

constexpr std::array kResources = {scheduling::kCpuIndex, scheduling::kMemoryIndex};
constexpr std::array kPrices = {1.0, 3.0, 10.0, 30.0, 100.0, 1e6};  // moves for an average node's capacity

class NodeChoice {
 public:
  NodeChoice(const DefragmentationProblem& problem, std::size_t most_moves, SearchBudget& budget, Chance& chance)
      : problem_(problem), most_moves_(most_moves), budget_(budget), chance_(chance) {
    for (const FreeableNode& each : problem.freeable()) {
      if (is_worth_it(each)) queue_.push_back(each);
    }
    for (std::size_t i = 0; i < kResources.size(); ++i) {
      for (const NodeIndex node : problem.taking())
        average_[i] += static_cast<double>(problem.base().allocatable().get(node, kResources[i]));
      average_[i] /= static_cast<double>(std::max<std::size_t>(problem.taking().size(), 1));
    }
    sort_queue();
  }

  std::vector<bool> make() {
    queue_.resize(kept_by_capacity());
    std::vector<bool> takes(problem_.base().node_count(), false);
    std::vector<bool> chosen = takes;
    for (const NodeIndex node : problem_.taking()) takes[node] = true;
    for (const FreeableNode& each : queue_) takes[each.node] = false;
    Packing packing(problem_, problem_.cluster(), std::move(takes), WorkloadCounts(problem_), {}, budget_, chance_);
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

  using Amounts = std::array<double, kResources.size()>;

  /// The least effort first; but as much capacity is to stay as lets the most nodes go, which may take more moves.
  void sort_queue() {
    sort_by(0);
    if (!problem_.rules().empty_first.empty()) return;
    const std::size_t by_effort = kept_by_capacity();
    sort_by(kPrices.back());
    const std::size_t most = kept_by_capacity();
    for (const double price : kPrices) {
      sort_by(by_effort >= most ? 0 : price);
      if (by_effort >= most || kept_by_capacity() >= most) return;
    }
  }

  /// `price`: moves that an average node's capacity is worth.
  void sort_by(double price) {
    std::ranges::stable_sort(queue_, {}, [&](const FreeableNode& each) {
      return std::tuple(each.rank, each.effort + price * capacity_of(each.node), each.disturbance, each.node);
    });
  }

  /// The largest share of what all nodes that take offer on average.
  double capacity_of(NodeIndex node) const {
    double most = 0;
    for (std::size_t i = 0; i < kResources.size(); ++i) {
      const auto all = static_cast<double>(problem_.base().allocatable().get(node, kResources[i]));
      if (average_[i] > 0) most = std::max(most, all / average_[i]);
    }
    return most;
  }

  /// Of the queue, how many from its front can go until the others could hold everything.
  std::size_t kept_by_capacity() const {
    Amounts room{};  // beside what comes there
    for (const NodeIndex node : problem_.taking()) add(room, free_on(node), 1);
    for (const FreeableNode& each : queue_) add(room, taken_by_emptying(each.node), -1);
    const auto is_short = [](double amount) { return amount < 0; };
    std::size_t kept = queue_.size();
    while (kept > 0 && std::ranges::any_of(room, is_short)) add(room, taken_by_emptying(queue_[--kept].node), 1);
    return kept;
  }

  static void add(Amounts& to, const Amounts& amounts, double sign) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += sign * amounts[i];
  }

  /// What its pods need elsewhere, and what it offers itself no more.
  Amounts taken_by_emptying(NodeIndex node) const {
    Amounts taken = problem_.takes(node) ? free_on(node) : Amounts{};
    for (const PodIndex pod : problem_.pods_on(node)) {
      const auto& requests = problem_.base().requests(pod);
      for (std::size_t i = 0; i < taken.size(); ++i)
        taken[i] += static_cast<double>(scheduling::amount_of(requests, kResources[i]));
    }
    return taken;
  }

  Amounts free_on(NodeIndex node) const {
    Amounts free{};
    for (std::size_t i = 0; i < free.size(); ++i) {
      const auto all = static_cast<double>(problem_.base().allocatable().get(node, kResources[i]));
      const auto used = static_cast<double>(problem_.cluster().used().get(node, kResources[i]));
      free[i] = std::max(all - used, 0.0);
    }
    return free;
  }

  /// Gives up emptying a node that would take the pod for which there is no place.
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
  std::size_t most_moves_;
  SearchBudget& budget_;
  Chance& chance_;
  Amounts average_{};  ///< of the nodes that take
  std::deque<FreeableNode> queue_;
};

}  // namespace

std::vector<bool> choose_nodes(const DefragmentationProblem& problem, std::size_t most_moves, SearchBudget& budget,
                               Chance& chance) {
  return NodeChoice(problem, most_moves, budget, chance).make();
}

}  // namespace strategies
