#include "planner/strategies/spread/spread_tree.hpp"

#include <algorithm>
#include <utility>

namespace strategies {

namespace {

constexpr std::uint32_t kNoVertex = 0xffffffff;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

SpreadTree::SpreadTree(std::vector<const SpreadState*>& rules, std::span<const NodePods> nodes, std::int64_t pending)
    : vertices_(1), parent_of_(nodes.size(), kRoot), nodes_(nodes.begin(), nodes.end()), total_(pending) {
  std::ranges::stable_sort(rules, {}, [](const SpreadState* rule) { return rule->domains().open.size(); });
  std::vector<const SpreadState*> others;
  for (const SpreadState* rule : rules) {
    if (rules_.size() < SpreadCost::kMaxBounds && nests(*rule))
      add_rule(*rule);
    else
      others.push_back(rule);
  }
  rules = std::move(others);
  for (const NodePods& node : nodes_) total_ += node.pods;
  find_level_ranges();
}

/// Returns true if each domain of the rule lies within one domain of the rules added so far.
bool SpreadTree::nests(const SpreadState& rule) const {
  std::vector<std::uint32_t> parent(rule.domains().nodes.size(), kNoVertex);
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    const std::uint32_t domain = rule.domain_of(node);
    if (domain == Topology::kNone) continue;
    if (parent[domain] != kNoVertex && parent[domain] != parent_of_[node]) return false;
    parent[domain] = parent_of_[node];
  }
  return true;
}

void SpreadTree::add_rule(const SpreadState& rule) {
  std::vector<std::uint32_t> vertex(rule.domains().nodes.size(), kNoVertex);
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    const std::uint32_t domain = rule.domain_of(node);
    if (domain == Topology::kNone) continue;
    if (vertex[domain] == kNoVertex) {
      vertex[domain] = static_cast<std::uint32_t>(vertices_.size());
      vertices_.push_back({.parent = parent_of_[node], .rule = static_cast<std::uint32_t>(rules_.size())});
    }
    parent_of_[node] = vertex[domain];
  }
  rules_.push_back(&rule);
}

/// Computes the possible pod counts of the emptiest domain of each rule: at most the mean, and at least the mean minus
/// the skew.
void SpreadTree::find_level_ranges() {
  for (const SpreadState* rule : rules_) {
    const auto open = static_cast<std::int64_t>(rule->domains().open.size());
    if (open == 0 || rule->counts_empty_domain()) {
      fewest_.push_back(0);
      most_.push_back(0);
      continue;
    }
    std::int64_t counted = 0;
    for (const std::uint32_t domain : rule->domains().open) counted += rule->count(domain);
    most_.push_back(total_ / open);
    fewest_.push_back(std::clamp<std::int64_t>(divide_up(counted, open) - rule->max_skew(), 0, most_.back()));
  }
}

SpreadTree::Levels SpreadTree::first_levels() const {
  Levels levels;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    levels.push_back(std::clamp(rules_[i]->limit() - rules_[i]->max_skew(), fewest_[i], most_[i]));
  }
  return levels;
}

SpreadCost SpreadTree::within_bounds(const Vertex& vertex, const SpreadCost& sum) const {
  const std::int64_t level = levels_[vertex.rule];
  return sum.bounded(level, level + rules_[vertex.rule]->max_skew());
}

std::int64_t SpreadTree::apply(const Levels& levels) {
  levels_ = levels;
  for (Vertex& vertex : vertices_) vertex.sum = {};
  for (NodeIndex node = 0; node < nodes_.size(); ++node) vertices_[parent_of_[node]].sum += cost_of(nodes_[node]);
  for (std::size_t i = vertices_.size() - 1; i > kRoot; --i) {  // parents come before their children
    vertices_[i].cost = within_bounds(vertices_[i], vertices_[i].sum);
    vertices_[vertices_[i].parent].sum += vertices_[i].cost;
  }
  return cost();
}

bool SpreadTree::is_tried(const Levels& levels) const {
  return std::ranges::find(tried_, levels, &Tried::levels) != tried_.end();
}

/// Tries all levels that differ by at most one per rule. The cost is convex in the levels.
std::int64_t SpreadTree::try_neighbours(Levels& best, std::int64_t cost) {
  const Levels centre = best;
  std::size_t count = 1;
  for (std::size_t i = 0; i < rules_.size(); ++i) count *= 3;
  for (std::size_t number = 0; number < count && tried_.size() < kMaxPlans; ++number) {
    Levels levels = centre;
    std::size_t rest = number;
    bool is_possible = true;
    for (std::size_t i = 0; i < levels.size(); ++i, rest /= 3) {
      levels[i] += static_cast<std::int64_t>(rest % 3) - 1;
      is_possible = is_possible && levels[i] >= fewest_[i] && levels[i] <= most_[i];
    }
    if (!is_possible || is_tried(levels)) continue;
    const std::int64_t found = tried_.emplace_back(Tried{levels, apply(levels)}).cost;
    if (found >= cost) continue;
    cost = found;
    best = std::move(levels);
  }
  return cost;
}

void SpreadTree::plan() {
  tried_.clear();
  Levels best = first_levels();
  std::int64_t cost = tried_.emplace_back(Tried{best, apply(best)}).cost;
  for (bool is_better = true; is_better;) {
    const std::int64_t found = try_neighbours(best, cost);
    is_better = found < cost;
    cost = found;
  }
  apply(best);
  std::erase_if(tried_, [&](const Tried& each) { return each.cost > cost || each.levels == best; });
}

bool SpreadTree::plan_otherwise() {
  const Levels before = levels_;
  const std::int64_t cost_before = cost();
  while (!tried_.empty()) {
    const Levels levels = std::move(tried_.back().levels);
    tried_.pop_back();
    if (apply(levels) <= cost_before) return true;
  }
  apply(before);
  return false;
}

std::int64_t SpreadTree::cost_with(NodeIndex node, const NodePods& pods) const {
  SpreadCost before = cost_of(nodes_[node]);
  SpreadCost now = cost_of(pods);
  for (std::uint32_t at = parent_of_[node];; at = vertices_[at].parent) {
    const Vertex& vertex = vertices_[at];
    SpreadCost sum = vertex.sum;
    sum -= before;
    sum += now;
    if (at == kRoot) return sum.at(total_);
    before = vertex.cost;
    now = within_bounds(vertex, sum);
  }
}

void SpreadTree::set(NodeIndex node, const NodePods& pods) {
  SpreadCost before = cost_of(nodes_[node]);
  SpreadCost now = cost_of(pods);
  nodes_[node] = pods;
  for (std::uint32_t at = parent_of_[node];; at = vertices_[at].parent) {
    Vertex& vertex = vertices_[at];
    vertex.sum -= before;
    vertex.sum += now;
    if (at == kRoot) return;
    before = std::exchange(vertex.cost, within_bounds(vertex, vertex.sum));
    now = vertex.cost;
  }
}

}  // namespace strategies
