#include "planner/strategies/defragmentation/search.hpp"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "api/meta/well_known.hpp"

namespace strategies {
namespace {

// Limit of an attempt, as a multiple of the steps of the last successful plan.
constexpr std::int64_t kMaxStepFactor = 8;
constexpr int kMaxFailures = 12;                    // consecutive further nodes that cannot be emptied
constexpr std::int64_t kMinImproving = 30'000'000;  // minimum steps for improvements; about one second
constexpr std::int64_t kMaxImproving = 60'000'000;
constexpr std::int64_t kFarImproving = 300'000'000;
constexpr std::int64_t kMinSteps = 1'000'000;  // minimum limit of an attempt
constexpr std::int64_t kFarSteps = 30'000'000;
constexpr std::size_t kNearPercent = 95;            // percent of the bound
constexpr std::size_t kCloseEnough = 500;           // fraction of the bound at which bisection stops
constexpr std::int64_t kFallbackSteps = 2'000'000;  // for each attempt after time has run out
constexpr int kMaxFallbacks = 12;
constexpr std::size_t kMaxAlone = 8;  // nodes tried one by one if several cannot be emptied together

}  // namespace

DefragmentationSearch::DefragmentationSearch(const DefragmentationProblem& problem, const Capacities& capacities,
                                             const WhatIfPlacement* origin, bool chooses_targets,
                                             const SearchLimits& limits, SearchBudget& budget, std::uint64_t seed)
    : problem_(problem),
      capacities_(capacities),
      origin_(origin),
      chooses_targets_(chooses_targets),
      limits_(limits),
      budget_(budget),
      rng_(seed),
      reached_(problem.base().node_count(), false),
      try_more_(kTryMore) {}

std::size_t DefragmentationSearch::busy_in(const Nodes& nodes) const {
  return static_cast<std::size_t>(std::ranges::count_if(problem_.freeable(), [&](const FreeableNode& each) {
    return nodes[each.node] && !problem_.pods_on(each.node).empty();
  }));
}

double DefragmentationSearch::value_of(std::size_t freed, std::size_t moves) const {
  const Defragmentation& rules = problem_.rules();
  return rules.weight_of_node * static_cast<double>(freed) - rules.weight_of_move * static_cast<double>(moves);
}

/// Prefers a higher value, then fewer moves, then fewer tainted nodes. Accepts ties, so that the search moves on.
bool DefragmentationSearch::is_better(std::size_t freed, std::size_t moves, const Nodes& avoided) const {
  const double now = value_of(freed, moves);
  const double best = value_of(state_.best.emptied.size(), state_.best.moves.size());
  if (now != best || state_.best.moves.empty()) return now > best;
  const auto tainted = static_cast<std::size_t>(std::ranges::count(avoided, true));
  return std::pair(moves, tainted) <= std::pair(state_.best.moves.size(), state_.best.avoided.size());
}

/// Prefers less disturbance, then fewer waves, then fewer tainted nodes.
bool DefragmentationSearch::is_cheapest(const DefragmentationPlan& plan) const {
  if (state_.cheapest.moves.empty()) return value_of(plan.emptied.size(), plan.moves.size()) > 0;
  const auto rank = [this](const DefragmentationPlan& each) {
    return std::tuple(-value_of(each.emptied.size(), each.moves.size()), each.moves.size(), each.disturbance,
                      each.waves(), each.avoided.size());
  };
  return rank(plan) < rank(state_.cheapest);
}

/// Stores the plan if it is the best so far, or the cheapest.
void DefragmentationSearch::consider(const Nodes& emptied, const Nodes& avoided, const std::vector<WaveMove>& moves) {
  DefragmentationPlan plan;
  plan.moves = moves;
  for (const FreeableNode& each : problem_.freeable()) {
    if (avoided[each.node]) plan.avoided.push_back(each.node);
    if (emptied[each.node] && !problem_.pods_on(each.node).empty()) plan.emptied.push_back(each.node);
  }
  for (const WaveMove& move : moves) plan.disturbance += problem_.disturbance(move.pod);
  const bool is_best = is_better(plan.emptied.size(), moves.size(), avoided);
  if (is_best) state_.best_nodes = emptied;
  if (is_cheapest(plan)) state_.cheapest = plan;
  if (is_best) state_.best = std::move(plan);
}

bool DefragmentationSearch::is_behind(const SearchState& other) const {
  const auto rank = [this](const DefragmentationPlan& each) {
    return std::pair(-value_of(each.emptied.size(), each.moves.size()), each.moves.size());
  };
  return rank(other.best) < rank(state_.best);
}

bool DefragmentationSearch::is_worse_than(const SearchState& other) const {
  const auto rank = [this](const SearchState& each) {
    const DefragmentationPlan& best = each.best;
    const DefragmentationPlan& cheapest = each.cheapest;
    return std::tuple(-value_of(best.emptied.size(), best.moves.size()), best.moves.size(), cheapest.disturbance,
                      cheapest.waves(), best.avoided.size());
  };
  return rank(other) < rank(state_);
}

/// Tries to empty the nodes. Returns true if all were emptied and the plan is worth its moves. Partial results are also
/// considered, because a later attempt can leave out the remaining nodes and their moves.
bool DefragmentationSearch::attempt(const Nodes& emptying, PackingStyle style, std::size_t most_moves,
                                    SearchBudget& budget, const std::vector<WaveMove>& kept) {
  if (origin_ == nullptr) return false;
  WavePlanner realization(problem_, origin_->fork(), emptying, chooses_targets_, style, budget, rng_);
  const std::int64_t before = budget.left();
  if (!kept.empty()) realization.repeat(kept, most_moves);
  const bool works = realization.run(most_moves);
  const std::int64_t steps = before - budget.left();
  const std::size_t moves = realization.moves().size();
  reached_ = emptying;
  for (const NodeIndex node : realization.left()) reached_[node] = false;
  const std::size_t freed = busy_in(reached_);
  if (moves <= most_moves) consider(reached_, emptying, realization.moves());
  if (works && value_of(freed, moves) > 0) {
    if (state_.steps_of_best == 0 || kept.empty()) state_.steps_of_best = steps;
    if (!budget_.is_stopped() && freed >= state_.best.emptied.size())
      extend(realization, style, limits_.most_moves, budget);
    return true;
  }
  left_ = works ? by_moves(emptying) : realization.left();
  left_size_ = realization.left_size();
  for (const NodeIndex node : left_) reached_[node] = false;
  if (left_.empty() || moves > most_moves) left_ = by_load(emptying);
  return false;
}

/// Tries further nodes one by one, least effort first, on top of the emptied ones. Each try costs only its own moves.
void DefragmentationSearch::extend(WavePlanner& realization, PackingStyle style, std::size_t most_moves,
                                   SearchBudget& budget) {
  if (!problem_.rules().empty_first.empty()) return;
  std::vector<std::pair<double, NodeIndex>> others;
  for (const FreeableNode& each : problem_.freeable()) {
    if (!realization.emptying()[each.node] && !problem_.pods_on(each.node).empty())
      others.emplace_back(each.effort * rng_.about_one(kKeyNoise), each.node);
  }
  std::ranges::sort(others);
  std::size_t freed = busy_in(realization.emptying());
  int failures = 0;
  bool is_longer = false;
  for (const auto& [effort, node] : others) {
    if (freed >= limits_.max_freed || failures == kMaxFailures || budget.is_over()) break;
    const bool works = realization.extend(node, style, most_moves);
    failures = works ? 0 : failures + 1;
    freed += works ? 1 : 0;
    is_longer = is_longer || works;
  }
  if (is_longer && is_better(freed, realization.moves().size(), realization.avoided()) && can_be_repeated(realization))
    consider(realization.emptying(), realization.avoided(), realization.moves());
}

/// Returns true if the plan still holds when all nodes have the taint from the start, as they do when it is carried
/// out.
bool DefragmentationSearch::can_be_repeated(const WavePlanner& realization) const {
  const auto placement = origin_->fork();
  std::vector<NodeIndex> avoided;
  for (NodeIndex node = 0; node < realization.avoided().size(); ++node) {
    if (realization.avoided()[node]) avoided.push_back(node);
  }
  placement->avoid(api::well_known::kEmptyingTaint, avoided);
  return std::ranges::all_of(realization.moves(), [&](const WaveMove& move) {
    const auto to = placement->relocate(move.pod, [&](NodeIndex node) {
      return move.is_chosen ? node == move.to : problem_.takes(node) && !realization.avoided()[node];
    });
    return to == move.to;
  });
}

/// Returns the nodes with pods, those with the most pods first.
std::vector<NodeIndex> DefragmentationSearch::by_moves(const Nodes& nodes) const {
  std::vector<NodeIndex> sorted = by_load(nodes);
  std::ranges::stable_sort(sorted, std::greater{}, [&](NodeIndex node) { return problem_.pods_on(node).size(); });
  return sorted;
}

/// Returns the nodes with pods in reverse order of emptying.
std::vector<NodeIndex> DefragmentationSearch::by_load(const Nodes& nodes) const {
  std::vector<std::tuple<std::uint32_t, double, NodeIndex>> keys;
  for (const FreeableNode& each : problem_.freeable()) {
    if (nodes[each.node] && !problem_.pods_on(each.node).empty()) keys.emplace_back(each.rank, each.effort, each.node);
  }
  std::ranges::sort(keys, std::greater{});
  std::vector<NodeIndex> sorted;
  for (const auto& [rank, effort, node] : keys) sorted.push_back(node);
  return sorted;
}

/// Finds the maximum of nodes that can be emptied between all of `emptying`, which fails, and `emptying` without
/// `left`.
void DefragmentationSearch::bisect(Nodes emptying, std::vector<NodeIndex> left) {
  std::size_t fails = 0;
  std::size_t works = left.size() + 1;
  std::size_t next =
      std::clamp<std::size_t>(static_cast<std::size_t>(left_size_) + 1, 1, std::max<std::size_t>(left.size(), 1));
  const std::size_t close = std::max<std::size_t>(limits_.max_freed / kCloseEnough, 1);
  while (works - fails > close && !left.empty() && !budget_.is_over()) {
    Nodes fewer = emptying;
    for (std::size_t i = 0; i < next; ++i) fewer[left[i]] = false;
    if (attempt(fewer, first_style(), limits_.most_moves, budget_)) {
      works = next;
    } else {
      fails = next;
      if (next == left.size()) return bisect(std::move(fewer), left_);  // then without more of them
    }
    next = works > left.size() ? std::min(2 * next, left.size()) : (works + fails) / 2;
  }
}

/// Returns true if the best plan is far below the bound of freed nodes.
bool DefragmentationSearch::is_far() const {
  return state_.best.emptied.size() * 100 < limits_.max_freed * kNearPercent;
}

bool DefragmentationSearch::is_perfect() const {
  const std::size_t freed = state_.best.emptied.size();
  const std::vector<std::size_t>& fewest = limits_.fewest_moves;
  if (freed < limits_.max_freed || freed >= fewest.size() || state_.best.moves.size() > fewest[freed]) return false;
  const double value = value_of(freed, state_.best.moves.size());
  if (problem_.rules().weight_of_move == 0) return true;
  for (std::size_t fewer = 0; fewer < freed; ++fewer) {
    if (value_of(fewer, fewest[fewer]) > value) return false;
  }
  return true;
}

DefragmentationSearch::Nodes DefragmentationSearch::empty_nodes() const {
  Nodes empty(problem_.base().node_count(), false);
  for (const FreeableNode& each : problem_.freeable()) empty[each.node] = problem_.pods_on(each.node).empty();
  return empty;
}

/// Fallback if no set of nodes can be emptied together. Tries single nodes; improve() extends the first that works.
void DefragmentationSearch::start_small() {
  const Nodes empty = empty_nodes();
  const std::vector<NodeIndex> nodes = by_load(Nodes(empty.size(), true));
  const std::size_t most = std::min(nodes.size(), kMaxAlone);
  for (std::size_t i = 0; i < most && state_.best.moves.empty() && !budget_.is_over(); ++i) {
    Nodes alone = empty;
    alone[nodes[nodes.size() - 1 - i]] = true;
    attempt(alone, first_style(), limits_.most_moves, budget_);
  }
}

/// Returns the quarter of the nodes with the least effort: at least one of several, none of a single node.
DefragmentationSearch::Nodes DefragmentationSearch::lightest_quarter(const Nodes& nodes) const {
  const std::vector<NodeIndex> sorted = by_load(nodes);
  const std::size_t kept = sorted.size() > 1 ? std::max<std::size_t>(sorted.size() / 4, 1) : 0;
  Nodes fewer = empty_nodes();
  for (std::size_t i = sorted.size() - kept; i < sorted.size(); ++i) fewer[sorted[i]] = true;
  return fewer;
}

/// Fallback if time ran out before any plan was complete. Tries these nodes and then smaller sets, each with a short
/// budget.
void DefragmentationSearch::settle(Nodes nodes) {
  for (int tries = 0; tries < kMaxFallbacks && busy_in(nodes) > 0; ++tries) {
    SearchBudget fallback(kFallbackSteps, limits_.is_cancelled);
    if (fallback.is_over() || attempt(nodes, first_style(), limits_.most_moves, fallback)) return;
    nodes = busy_in(reached_) > 0 ? reached_ : lightest_quarter(nodes);
  }
}

void DefragmentationSearch::search() {
  const std::int64_t before = budget_.left();
  const Nodes first = choose_nodes(problem_, capacities_, limits_.most_moves, budget_, rng_);
  if (busy_in(first) > 0 && !attempt(first, first_style(), limits_.most_moves, budget_)) bisect(first, left_);
  if (state_.best.moves.empty()) start_small();
  if (state_.best.moves.empty() && budget_.is_stopped())
    settle(busy_in(reached_) > 0 ? reached_ : busy_in(first) > 0 ? first : lightest_quarter(Nodes(first.size(), true)));
  if (state_.best.moves.empty()) return;
  // Grants about as many steps again, because an attempt costs as much as the first plan; more if the plan is far below
  // the bound.
  const std::int64_t steps = std::clamp(before - budget_.left(), kMinImproving, kMaxImproving);
  const std::int64_t granted = std::min(budget_.left(), is_far() ? kFarImproving : steps);
  budget_.grant(granted);
  improve_by_gaps();
  improve_in_streams(budget_.left(), std::max(is_far() ? kFarSteps : kMinSteps, kMaxStepFactor * state_.steps_of_best));
  budget_.grant(granted);
  cheapen();
}

DefragmentationPlan DefragmentationSearch::run() {
  if (limits_.max_freed > 0) search();
  DefragmentationPlan plan = std::move(state_.cheapest);
  plan.is_cut_short = budget_.is_stopped() && plan.emptied.size() < limits_.max_freed;
  return plan;
}

}  // namespace strategies
