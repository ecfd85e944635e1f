#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <vector>

#include "planner/strategies/spread/spread_tree.hpp"
#include "planner/strategies/spread/state.hpp"

namespace strategies {

/// What is left to do for some rules. Less is better.
struct SpreadDistance {
  std::int64_t furthest = 0;  ///< of the trees of nested rules: SpreadTree::cost()
  std::int64_t sum = 0;
  SpreadDistance& operator+=(const SpreadDistance& other) {
    furthest += other.furthest;
    sum += other.sum;
    return *this;
  }
  friend auto operator<=>(const SpreadDistance&, const SpreadDistance&) = default;
};

/// Pods in the domains of a node, of the first few rules.
using SpreadCounts = std::array<std::int64_t, 4>;

/// Rules of one namespace that count the same pods. With rules whose domains do not nest (zones and instance types)
/// there are several trees: each of them is exact, and together they are a lower bound of the moves that are left.
class SpreadGroup {
 public:
  /// `nodes`: all nodes, by index. A node that a DoNotSchedule rule leaves out has no room. `pending`: further pods
  /// that will come.
  SpreadGroup(std::vector<SpreadState*> states, std::vector<NodePods> nodes, std::int64_t pending);

  const NodePods& node(NodeIndex node) const { return nodes_[node]; }
  SpreadDistance distance() const;
  /// As if a movable pod had left the node.
  SpreadDistance distance_if_taken(NodeIndex node) const;
  SpreadDistance distance_if_put(NodeIndex node) const { return distance_with(node, with_one_more(node)); }
  /// A move would make the rules hold, or come closer to that.
  bool has_moves() const;

  /// Chooses the outcome to go for, or another one that is as near. See SpreadTree.
  void plan();
  bool plan_otherwise();

  /// One pod more, or less, is counted on the node.
  void put(NodeIndex node);
  void remove(NodeIndex node);
  /// One pod fewer of the node, or one more, is movable.
  void keep(NodeIndex node) { set_movable(node, -1); }
  void release(NodeIndex node) { set_movable(node, +1); }

  /// Pods above the limits of all rules: the sum of SpreadState::excess().
  std::int64_t excess() const;
  /// Every DoNotSchedule rule holds.
  bool holds() const;
  /// kube-scheduler's filter lets one more pod onto the node by all DoNotSchedule rules, with the pods of now.
  bool lets_in(NodeIndex node) const;
  /// Writes the pods in each domain of the node to `at`, from the coarsest rule to the finest; -1: in none. Returns the
  /// end of what it wrote, at most `end`.
  SpreadCounts::iterator copy_counts(NodeIndex node, SpreadCounts::iterator at, SpreadCounts::iterator end) const;
  const std::vector<SpreadState*>& states() const { return states_; }

 private:
  NodePods with_one_less(NodeIndex node) const;
  NodePods with_one_more(NodeIndex node) const;
  SpreadDistance distance_with(NodeIndex node, const NodePods& pods) const;
  void set(NodeIndex node, const NodePods& pods);
  void set_movable(NodeIndex node, std::int64_t change);

  std::vector<SpreadState*> states_;  ///< from the coarsest to the finest
  std::vector<NodePods> nodes_;
  std::vector<bool> takes_;  ///< by node: it has room, or would have some when a pod leaves
  std::deque<SpreadTree> trees_;
};

}  // namespace strategies
