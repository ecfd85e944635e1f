#pragma once

#include <array>
#include <deque>
#include <span>
#include <vector>

#include "planner/strategies/defragmentation/packing.hpp"

namespace strategies {

/// Cpu, memory and pods, as shares of the average node's allocatable.
using CapacityAmounts = std::array<double, 3>;

/// Weight of each share when nodes are compared by capacity. All zero selects the larger share of cpu and memory.
using CapacityWorth = CapacityAmounts;

inline CapacityWorth worth_of_mix(double cpu) { return {cpu, 1 - cpu, 0}; }
constexpr CapacityWorth kWorthOfPods = {0, 0, 1};

/// Capacity of nodes, and capacity that emptying them takes from the others, as sums without regard to which pod fits
/// where. Construction visits all pods; thread-safe afterwards.
class Capacities {
 public:
  explicit Capacities(const DefragmentationProblem& problem);

  /// REQUIRES: the node is in DefragmentationProblem::freeable(). Applies to all methods below.
  double worth_of(NodeIndex node, const CapacityWorth& worth) const;
  /// Returns true if nodes have different capacity.
  bool differ() const { return differ_; }
  /// `emptying` is indexed by node. Returns false if the other nodes lack capacity for all requests.
  bool suffices_without(const std::vector<bool>& emptying) const;
  /// Returns how many of these nodes, from the front, can be emptied while the others have capacity for all requests.
  std::size_t most_of(std::span<const NodeIndex> nodes) const;

 private:
  CapacityAmounts free_{};  ///< free on all nodes that take pods
  bool differ_ = false;
  std::vector<CapacityAmounts> offered_;  ///< indexed by node
  std::vector<CapacityAmounts> taken_;    ///< indexed by node
};

/// Chooses the nodes to empty greedily, with at most about `most_moves` moves: first by capacity, as many as the others
/// can hold, those with the least to move; then node by node, keeping another node in use when a pod finds no place.
/// The result is indexed by node and includes nodes that are already empty.
std::vector<bool> choose_nodes(const DefragmentationProblem& problem, const Capacities& capacities,
                               std::size_t most_moves, SearchBudget& budget, Rng& rng);

}  // namespace strategies
