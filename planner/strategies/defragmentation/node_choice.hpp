#pragma once

#include <array>
#include <deque>
#include <span>
#include <vector>

#include "planner/strategies/defragmentation/packing.hpp"

namespace strategies {

/// Cpu, memory and pods, in shares of what a node offers on average.
using CapacityAmounts = std::array<double, 3>;

/// What each share counts when nodes are compared by what they offer; nothing at all: the larger one of cpu and memory.
using CapacityWorth = CapacityAmounts;

/// `cpu` of one, the rest is memory.
inline CapacityWorth worth_of_mix(double cpu) { return {cpu, 1 - cpu, 0}; }
constexpr CapacityWorth kWorthOfPods = {0, 0, 1};

/// What nodes offer and what emptying them takes from the others, as sums: no word about which pod fits where. Made by
/// a look at all pods; thread-safe from then on.
class Capacities {
 public:
  explicit Capacities(const DefragmentationProblem& problem);

  /// REQUIRES: the node is one of DefragmentationProblem::freeable(), here and below.
  double worth_of(NodeIndex node, const CapacityWorth& worth) const;
  /// Nodes offer different amounts.
  bool differ() const { return differ_; }
  /// By node. False: the others could not hold everything.
  bool suffices_without(const std::vector<bool>& emptying) const;
  /// Of these, how many from the front can be emptied until the others could not hold everything.
  std::size_t most_of(std::span<const NodeIndex> nodes) const;

 private:
  CapacityAmounts room_{};  ///< free on all that take
  bool differ_ = false;
  std::vector<CapacityAmounts> offered_;  ///< by node
  std::vector<CapacityAmounts> taken_;    ///< by node
};

/// With at most so many moves, as far as can be told: the greedy choice of the nodes to empty: by what is requested as
/// many as the others could hold, those with the least to move; then each in turn, and where a pod finds no place one
/// of the rest is kept open for it. By node, those included that are empty already.
std::vector<bool> choose_nodes(const DefragmentationProblem& problem, const Capacities& capacities,
                               std::size_t most_moves, SearchBudget& budget, Rng& rng);

}  // namespace strategies
