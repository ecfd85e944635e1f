#include "strategies/defragmentation/search.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

namespace strategies {
namespace {

constexpr int kMostAttempts = 12;

/// Chooses the nodes to empty: as many as can be, the ones with the least to move.
class NodeSelection {
 public:
  NodeSelection(const DefragmentationProblem& problem, std::vector<bool> candidates)
      : problem_(problem), emptying_(std::move(candidates)) {
    for (const FreeableNode& each : problem.freeable()) {
      if (emptying_[each.node]) queue_.push_back(&each);
    }
    std::ranges::stable_sort(queue_, {}, &FreeableNode::load);
  }

  std::vector<bool> choose(const ShouldStop& should_stop) {
    const std::vector<bool> none(emptying_.size(), false);
    keep_by_capacity();
    std::vector<bool> takes = none;
    for (const NodeIndex node : problem_.taking()) takes[node] = !emptying_[node];
    Packing packing(problem_, problem_.cluster(), std::move(takes));
    std::vector<bool> chosen = none;
    while (!queue_.empty() && !should_stop()) {
      const FreeableNode& next = *queue_.front();
      if (packing.place_all(next.pods)) {
        chosen[next.node] = true;
        queue_.pop_front();
      } else if (!open_another(packing)) {
        if (problem_.takes(next.node)) packing.open(next.node);
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
    for (const NodeIndex node : problem_.taking()) capacity += emptying_[node] ? 0 : free_share(node);
    for (const FreeableNode* each : queue_) load += each->load;
    while (!queue_.empty() && load > capacity) {
      const FreeableNode& last = *queue_.back();
      load -= last.load;
      if (problem_.takes(last.node)) capacity += free_share(last.node);
      emptying_[last.node] = false;
      queue_.pop_back();
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
      const NodeIndex node = queue_[i]->node;
      if (!problem_.takes(node) || !packing.fits(packing.stuck(), node)) continue;
      packing.open(node);
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  const DefragmentationProblem& problem_;
  std::vector<bool> emptying_;
  std::deque<const FreeableNode*> queue_;
};

std::vector<bool> all_freeable(const DefragmentationProblem& problem) {
  std::vector<bool> nodes(problem.base().node_count(), false);
  for (const FreeableNode& each : problem.freeable()) nodes[each.node] = true;
  return nodes;
}

DefragmentationPlan plan_of(const DefragmentationProblem& problem, const Realization& realization,
                            const std::vector<bool>& emptying) {
  DefragmentationPlan plan;
  plan.moves = realization.moves();
  for (const FreeableNode& each : problem.freeable()) {
    if (!emptying[each.node]) continue;
    plan.avoided.push_back(each.node);
    if (!each.pods.empty()) plan.emptied.push_back(each.node);
  }
  return plan;
}

}  // namespace

DefragmentationPlan find_plan(const DefragmentationProblem& problem, const NominationSink& sink,
                              const ShouldStop& should_stop) {
  std::vector<bool> emptying = NodeSelection(problem, all_freeable(problem)).choose(should_stop);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto rehearsal = sink.rehearse();
    if (!rehearsal) return {};
    Realization realization(problem, std::move(rehearsal), emptying, should_stop);
    if (realization.run()) return plan_of(problem, realization, emptying);
    const std::vector<NodeIndex> left = realization.left();
    const std::size_t drop = attempt + 2 < kMostAttempts ? (left.size() + 2) / 3 : left.size();
    for (std::size_t i = 0; i < drop; ++i) emptying[left[left.size() - 1 - i]] = false;
  }
  return {};
}

}  // namespace strategies
