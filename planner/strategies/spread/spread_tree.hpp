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
  std::int64_t movable = 0;  ///< of these, pods that may leave
  std::int64_t room = 0;     ///< capacity for this number of further ones
  friend bool operator==(const NodePods&, const NodePods&) = default;
};

/// Fewest moves that make rules hold whose domains are nested, as in zones of racks of hosts. All rules count the same
/// pods. The domains form a tree with the nodes as leaves; each vertex keeps the cost of what is below it (SpreadCost).
/// plan() takes O(nodes * rules) for each set of bounds that it compares, at most kMaxPlans sets. All other calls
/// follow one path from a leaf to the root: O(rules), in a cluster of any size.
class SpreadTree {
 public:
  static constexpr std::size_t kMaxPlans = 200;

  /// Takes as many of `rules` as nest, coarse ones first, and removes them from the list. REQUIRES: `rules` is not
  /// empty. The states outlive the tree. `nodes`: all nodes, by index. `pending`: further pods that will come.
  SpreadTree(std::vector<const SpreadState*>& rules, std::span<const NodePods> nodes, std::int64_t pending);

  /// Chooses bounds for the domains of each rule: those of the cheapest outcome.
  void plan();
  /// Changes to other bounds that are as cheap as those in force. False: there are none that were not tried since
  /// plan().
  bool plan_otherwise();

  /// Pods beyond a bound for good, times SpreadCost::kViolation, plus the moves that are left.
  std::int64_t cost() const { return vertices_[kRoot].sum.at(total_); }
  /// What cost() would be if the node had these pods.
  std::int64_t cost_with(NodeIndex node, const NodePods& pods) const;
  void set(NodeIndex node, const NodePods& pods);

 private:
  static constexpr std::uint32_t kRoot = 0;
  using Levels = std::vector<std::int64_t>;  ///< by rule: fewest pods of a domain

  struct Vertex {
    std::uint32_t parent = kRoot;
    std::uint32_t rule = 0;
    SpreadCost sum{};   ///< of the children
    SpreadCost cost{};  ///< of the same within the rule's bounds
  };

  bool nests(const SpreadState& rule) const;
  void add_rule(const SpreadState& rule);
  void find_level_ranges();
  Levels first_levels() const;
  /// Applies bounds and returns the cost.
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
  std::vector<std::uint32_t> parent_of_;  ///< by node
  std::vector<NodePods> nodes_;
  std::int64_t total_ = 0;
  Levels levels_, fewest_, most_;
  std::vector<Tried> tried_;  ///< since plan()
};

}  // namespace strategies
