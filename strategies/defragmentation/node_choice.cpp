#include "strategies/defragmentation/node_choice.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace strategies {
namespace {

class NodeChoice {
 public:
  NodeChoice(const DefragmentationProblem& problem, std::size_t most_moves, SearchBudget& budget, Chance& chance)
      : problem_(problem), most_moves_(most_moves), budget_(budget), chance_(chance) {
    for (const FreeableNode& each : problem.freeable()) {
      if (is_worth_it(each)) queue_.push_back(each);
    }
    std::ranges::stable_sort(queue_, {}, [](const FreeableNode& each) { return std::tuple(each.rank, each.load); });
  }

  std::vector<bool> make() {
    keep_by_capacity();
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

  /// Takes the nodes with the most to move out of the queue until the others could hold everything.
  void keep_by_capacity() {
    double load = 0;
    double capacity = 0;
    for (const NodeIndex node : problem_.taking()) capacity += free_share(node);
    for (const FreeableNode& each : queue_) {
      load += each.load;
      if (problem_.takes(each.node)) capacity -= free_share(each.node);
    }
    while (!queue_.empty() && load > capacity) {
      const FreeableNode last = queue_.back();
      queue_.pop_back();
      load -= last.load;
      if (problem_.takes(last.node)) capacity += free_share(last.node);
    }
  }

  double free_share(NodeIndex node) const {
    const auto share = [&](scheduling::ResourceIndex resource) {
      const auto all = static_cast<double>(problem_.base().allocatable().get(node, resource));
      const auto used = static_cast<double>(problem_.cluster().used().get(node, resource));
      return all <= 0 ? 0 : std::max(all - used, 0.0) / all;
    };
    return std::min(share(scheduling::kCpuIndex), share(scheduling::kMemoryIndex));
  }

  /// Gives up emptying a node that would take the pod for which there is no place.
  bool open_another(Packing& packing) {
    for (std::size_t i = queue_.size(); i-- > 1;) {
      const NodeIndex node = queue_[i].node;
      if (!problem_.takes(node) || !packing.fits(packing.stuck(), node)) continue;
      packing.open(node);
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  const DefragmentationProblem& problem_;
  std::size_t most_moves_;
  SearchBudget& budget_;
  Chance& chance_;
  std::deque<FreeableNode> queue_;
};

}  // namespace

std::vector<bool> choose_nodes(const DefragmentationProblem& problem, std::size_t most_moves, SearchBudget& budget,
                               Chance& chance) {
  return NodeChoice(problem, most_moves, budget, chance).make();
}

}  // namespace strategies
