#include "planner/strategies/spread/spread_group.hpp"

#include <algorithm>

namespace strategies {

SpreadGroup::SpreadGroup(std::vector<SpreadState*> states, std::vector<NodePods> nodes, std::int64_t pending)
    : states_(std::move(states)), nodes_(std::move(nodes)), may_take_pods_(nodes_.size()) {
  std::ranges::stable_sort(states_, {}, [](const SpreadState* state) { return state->domains().open.size(); });
  for (NodeIndex node = 0; node < nodes_.size(); ++node) may_take_pods_[node] = nodes_[node].room > 0;
  std::vector<const SpreadState*> rules(states_.begin(), states_.end());
  while (!rules.empty()) trees_.emplace_back(rules, nodes_, pending);
  plan();
}

template <typename F>
SpreadDistance SpreadGroup::distance_by(F&& cost_of) const {
  SpreadDistance distance;
  for (const SpreadTree& tree : trees_) {
    const std::int64_t cost = cost_of(tree);
    distance = {std::max(distance.furthest, cost), distance.sum + cost};
  }
  return distance;
}

SpreadDistance SpreadGroup::distance() const {
  return distance_by([](const SpreadTree& tree) { return tree.cost(); });
}

SpreadDistance SpreadGroup::distance_with(NodeIndex node, const NodePods& pods) const {
  return distance_by([&](const SpreadTree& tree) { return tree.cost_with(node, pods); });
}

bool SpreadGroup::has_moves() const {
  return std::ranges::any_of(trees_, [](const SpreadTree& tree) { return tree.cost() % SpreadCost::kViolation > 0; });
}

void SpreadGroup::plan() {
  for (SpreadTree& tree : trees_) tree.plan();
}

bool SpreadGroup::plan_otherwise() {
  return std::ranges::any_of(trees_, [](SpreadTree& tree) { return tree.plan_otherwise(); });
}

NodePods SpreadGroup::with_one_less(NodeIndex node) const {
  const NodePods& now = nodes_[node];
  return {now.pods - 1, now.movable, now.room + (may_take_pods_[node] ? 1 : 0)};
}

NodePods SpreadGroup::with_one_more(NodeIndex node) const {
  const NodePods& now = nodes_[node];
  return {now.pods + 1, now.movable, std::max<std::int64_t>(now.room - 1, 0)};
}

SpreadDistance SpreadGroup::distance_if_taken(NodeIndex node) const {
  NodePods pods = with_one_less(node);
  --pods.movable;
  return distance_with(node, pods);
}

void SpreadGroup::set(NodeIndex node, const NodePods& pods) {
  nodes_[node] = pods;
  for (SpreadTree& tree : trees_) tree.set(node, pods);
}

void SpreadGroup::set_movable(NodeIndex node, std::int64_t change) {
  NodePods pods = nodes_[node];
  pods.movable += change;
  set(node, pods);
}

void SpreadGroup::put(NodeIndex node) {
  set(node, with_one_more(node));
  for (SpreadState* state : states_) state->move(Topology::kNone, state->domain_of(node));
}

void SpreadGroup::remove(NodeIndex node) {
  set(node, with_one_less(node));
  for (SpreadState* state : states_) state->move(state->domain_of(node), Topology::kNone);
}

std::int64_t SpreadGroup::excess() const {
  std::int64_t excess = 0;
  for (const SpreadState* state : states_) excess += state->excess();
  return excess;
}

bool SpreadGroup::holds() const {
  return std::ranges::all_of(states_,
                             [](const SpreadState* state) { return !state->is_hard() || state->excess() == 0; });
}

bool SpreadGroup::lets_in(NodeIndex node) const {
  return std::ranges::all_of(states_, [node](const SpreadState* state) {
    if (!state->is_hard()) return true;
    const std::uint32_t domain = state->domain_of(node);
    return domain != Topology::kNone && state->count(domain) < state->limit();
  });
}

SpreadCounts::iterator SpreadGroup::copy_counts(NodeIndex node, SpreadCounts::iterator at,
                                                SpreadCounts::iterator end) const {
  for (const SpreadState* state : states_) {
    if (at == end) break;
    const std::uint32_t domain = state->domain_of(node);
    *at++ = domain == Topology::kNone ? -1 : state->count(domain);
  }
  return at;
}

}  // namespace strategies
