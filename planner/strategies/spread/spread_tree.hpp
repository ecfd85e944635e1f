#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/strategies/spread/spread_cost.hpp"
#include "planner/strategies/spread/state.hpp"

namespace strategies {

/// The pods of one node that a group of rules counts.
struct NodePods {
  std::int64_t pods = 0;
  std::int64_t movable = 0;  ///< part of `pods` that may leave
  std::int64_t room = 0;     ///< number of further pods for which there is capacity
  friend bool operator==(const NodePods&, const NodePods&) = default;
};

/// Minimum number of moves that satisfies rules with nested domains, such as zones of racks of hosts. All rules count
/// the same pods. The domains form a tree with the nodes as leaves; each vertex stores the cost of its subtree
/// (SpreadCost). plan() takes O(nodes * rules) per set of bounds, for at most kMaxPlans sets. All other calls follow
/// one path from a leaf to the root and take O(rules), independent of the cluster size.
class SpreadTree {
 public:
  static constexpr std::size_t kMaxPlans = 200;

  /// Takes as many of `rules` as nest, coarse ones first, and removes them from the vector. `nodes` contains all nodes
  /// by index. `pending` is the number of further pods that will arrive. REQUIRES: `rules` is not empty; the states
  /// outlive the tree.
  SpreadTree(std::vector<const SpreadState*>& rules, std::span<const NodePods> nodes, std::int64_t pending);

  /// Chooses the bounds for the domains of each rule that give the cheapest outcome.
  void plan();
  /// Changes to other bounds of the same cost. Returns false if all of them were tried since plan().
  bool plan_otherwise();

  /// Number of pods that permanently exceed a bound times SpreadCost::kViolation, plus the remaining moves.
  std::int64_t cost() const { return vertices_[kRoot].sum.at(total_); }
  /// Returns cost() for the case that the node has these pods.
  std::int64_t cost_with(NodeIndex node, const NodePods& pods) const;
  void set(NodeIndex node, const NodePods& pods);

 private:
  static constexpr std::uint32_t kRoot = 0;
  using Levels = std::vector<std::int64_t>;  ///< indexed by rule: minimum pods of a domain

  struct Vertex {
    std::uint32_t parent = kRoot;
    std::uint32_t rule = 0;
    SpreadCost sum{};   ///< sum over the children
    SpreadCost cost{};  ///< `sum` within the rule's bounds
  };

  bool nests(const SpreadState& rule) const;
  void add_rule(const SpreadState& rule);
  void find_level_ranges();
  Levels first_levels() const;
  /// Applies the bounds and returns the cost.
  std::int64_t apply(const Levels& levels);
  std::int64_t try_neighbours(Levels& best, std::int64_t cost);
  bool is_tried(const Levels& levels) const;
  SpreadCost within_bounds(const Vertex& vertex, const SpreadCost& sum) const;
  static SpreadCost cost_of(const NodePods& node) { return SpreadCost::of_node(node.pods, node.movable, node.room); }

  struct Tried {
    Levels levels;
    std::int64_t cost;
  };

  std::vector<const SpreadState*> rules_;
  std::vector<Vertex> vertices_;
  std::vector<std::uint32_t> parent_of_;  ///< indexed by node
  std::vector<NodePods> nodes_;
  std::int64_t total_ = 0;
  Levels levels_, fewest_, most_;
  std::vector<Tried> tried_;  ///< since plan()
};

}  // namespace strategies
