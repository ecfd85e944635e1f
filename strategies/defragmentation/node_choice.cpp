#include "strategies/defragmentation/node_choice.hpp"

#include <algorithm>
#include <utility>

namespace strategies {
namespace {

class NodeChoice {
 public:
  NodeChoice(const DefragmentationProblem& problem, PackingStyle style, SearchBudget& budget, Chance& chance)
      : problem_(problem), style_(style), budget_(budget), chance_(chance) {
    for (const FreeableNode& each : problem.freeable()) queue_.push_back(each);
    std::ranges::stable_sort(queue_, {}, &FreeableNode::load);
  }

  std::vector<bool> make() {
    keep_by_capacity();
    std::vector<bool> takes(problem_.base().node_count(), false);
    std::vector<bool> chosen = takes;
    for (const NodeIndex node : problem_.taking()) takes[node] = true;
    for (const FreeableNode& each : queue_) takes[each.node] = false;
    Packing packing(problem_, problem_.cluster(), std::move(takes), style_, budget_, chance_);
    while (!queue_.empty() && !budget_.is_over()) {
      const NodeIndex next = queue_.front().node;
      if (packing.place_all(problem_.pods_on(next))) {
        chosen[next] = true;
        queue_.pop_front();
      } else if (!open_another(packing)) {
        if (problem_.takes(next)) packing.open(next);
        queue_.pop_front();
      }
    }
    return chosen;
  }

 private:
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
  PackingStyle style_;
  SearchBudget& budget_;
  Chance& chance_;
  std::deque<FreeableNode> queue_;
};

}  // namespace

std::vector<bool> choose_nodes(const DefragmentationProblem& problem, PackingStyle style, SearchBudget& budget,
                               Chance& chance) {
  return NodeChoice(problem, style, budget, chance).make();
}

}  // namespace strategies
