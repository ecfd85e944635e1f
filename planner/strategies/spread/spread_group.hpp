#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <vector>

#include "planner/strategies/spread/spread_tree.hpp"
#include "planner/strategies/spread/state.hpp"

namespace strategies {

/// Remaining distance of some rules from being satisfied. Smaller is better.
struct SpreadDistance {
  std::int64_t furthest = 0;  ///< maximum SpreadTree::cost() of the trees
  std::int64_t sum = 0;
  SpreadDistance& operator+=(const SpreadDistance& other) {
    furthest += other.furthest;
    sum += other.sum;
    return *this;
  }
  friend auto operator<=>(const SpreadDistance&, const SpreadDistance&) = default;
};

/// Pods in the domains of a node, for the first few rules.
using SpreadCounts = std::array<std::int64_t, 4>;

/// Rules of one namespace that count the same pods. Rules whose domains do not nest (zones and instance types) form
/// several trees: each is exact, and together they are a lower bound of the remaining moves.
class SpreadGroup {
 public:
  /// `nodes` contains all nodes by index; nodes excluded by a DoNotSchedule rule have no capacity. `pending` is the
  /// number of further pods that will arrive.
  SpreadGroup(std::vector<SpreadState*> states, std::vector<NodePods> nodes, std::int64_t pending);

  const NodePods& node(NodeIndex node) const { return nodes_[node]; }
  SpreadDistance distance() const;
  /// Distance after a movable pod has left the node.
  SpreadDistance distance_if_taken(NodeIndex node) const;
  SpreadDistance distance_if_put(NodeIndex node) const { return distance_with(node, with_one_more(node)); }
  /// Returns true if a move would satisfy the rules or bring them closer to it.
  bool has_moves() const;

  /// plan() chooses the outcome to work towards; plan_otherwise() chooses another one at the same distance. See
  /// SpreadTree.
  void plan();
  bool plan_otherwise();

  /// put() counts one pod more on the node, remove() one pod fewer.
  void put(NodeIndex node);
  void remove(NodeIndex node);
  /// keep() makes one pod of the node immovable, release() makes one movable again.
  void keep(NodeIndex node) { set_movable(node, -1); }
  void release(NodeIndex node) { set_movable(node, +1); }

  /// Pods above the limits of all rules: the sum of SpreadState::excess().
  std::int64_t excess() const;
  /// Every DoNotSchedule rule holds.
  bool holds() const;
  /// Returns true if all DoNotSchedule rules let kube-scheduler put one more pod on the node now.
  bool lets_in(NodeIndex node) const;
  /// Writes the pods in each domain of the node to `at`, from the coarsest rule to the finest, or -1 where the node is
  /// in no domain. Returns the end of the written range, which is at most `end`.
  SpreadCounts::iterator copy_counts(NodeIndex node, SpreadCounts::iterator at, SpreadCounts::iterator end) const;
  const std::vector<SpreadState*>& states() const { return states_; }

 private:
  NodePods with_one_less(NodeIndex node) const;
  NodePods with_one_more(NodeIndex node) const;
  template <typename F>
  SpreadDistance distance_by(F&& cost_of) const;
  SpreadDistance distance_with(NodeIndex node, const NodePods& pods) const;
  void set(NodeIndex node, const NodePods& pods);
  void set_movable(NodeIndex node, std::int64_t change);

  std::vector<SpreadState*> states_;  ///< from coarsest to finest
  std::vector<NodePods> nodes_;
  std::vector<bool> may_take_pods_;  ///< indexed by node: it has capacity, or would have some if a pod left
  std::deque<SpreadTree> trees_;
};

}  // namespace strategies
