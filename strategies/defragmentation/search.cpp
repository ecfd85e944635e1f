#include "strategies/defragmentation/search.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "strategies/defragmentation/node_choice.hpp"

namespace strategies {
namespace {

constexpr double kNoise = 0.3;     // of sizes at most, so that equal attempts end differently
constexpr double kKeyNoise = 0.7;  // of loads, when nodes are exchanged
constexpr double kTryMore = 0.8;   // share of the attempts that are about one more node
constexpr int kPatience = 400;     // attempts without gain
constexpr std::size_t kStepsOfAttempt = 500;
constexpr std::int64_t kLeastImproving = 6'000'000;  // for improvements: tenths of a second
constexpr std::int64_t kMostImproving = 20'000'000;
constexpr std::int64_t kMoment = 2'000'000;  // for each try after the time has run out
constexpr int kMostMoments = 12;
constexpr std::size_t kMostAlone = 8;  // nodes that are tried one by one where several at once bring nothing

}  // namespace

DefragmentationSearch::DefragmentationSearch(const DefragmentationProblem& problem, const NominationSink& sink,
                                             const SearchLimits& limits, SearchBudget& budget, std::uint64_t seed)
    : problem_(problem),
      sink_(sink),
      limits_(limits),
      budget_(budget),
      chance_(seed),
      reached_(problem.base().node_count(), false) {}

std::size_t DefragmentationSearch::busy_in(const Nodes& nodes) const {
  return static_cast<std::size_t>(std::ranges::count_if(problem_.freeable(), [&](const FreeableNode& each) {
    return nodes[each.node] && !problem_.pods_on(each.node).empty();
  }));
}

double DefragmentationSearch::value_of(std::size_t freed, std::size_t moves) const {
  const DefragmentationRules& rules = problem_.rules();
  return rules.weight_of_node * static_cast<double>(freed) - rules.weight_of_move * static_cast<double>(moves);
}

bool DefragmentationSearch::is_better(std::size_t freed, std::size_t moves) const {
  const double now = value_of(freed, moves);
  const double best = value_of(best_.emptied.size(), best_.moves.size());
  return now > best || (now == best && moves < best_.moves.size());
}

void DefragmentationSearch::keep(const Nodes& emptying, const std::vector<WaveMove>& moves) {
  best_nodes_ = emptying;
  best_ = {};
  best_.moves = moves;
  for (const FreeableNode& each : problem_.freeable()) {
    if (!emptying[each.node]) continue;
    best_.avoided.push_back(each.node);
    if (!problem_.pods_on(each.node).empty()) best_.emptied.push_back(each.node);
  }
}

/// True: all of them can be emptied, and that is worth its moves. Kept if that is better than what is known.
bool DefragmentationSearch::attempt(const Nodes& emptying, PackingStyle style, std::size_t most_moves,
                                    SearchBudget& budget) {
  auto rehearsal = sink_.rehearse();
  if (!rehearsal) return false;
  Realization realization(problem_, std::move(rehearsal), emptying, sink_.chooses_targets(), style, budget, chance_);
  const bool works = realization.run(most_moves);
  const std::size_t freed = busy_in(emptying);
  const std::size_t moves = realization.moves().size();
  if (works && is_better(freed, moves)) keep(emptying, realization.moves());
  if (works && value_of(freed, moves) > 0) return true;
  left_ = works ? by_moves(emptying) : realization.left();
  reached_ = emptying;
  for (const NodeIndex node : left_) reached_[node] = false;
  if (left_.empty() || moves > most_moves) left_ = by_load(emptying);
  return false;
}

/// Those with pods, the one with the most first.
std::vector<NodeIndex> DefragmentationSearch::by_moves(const Nodes& nodes) const {
  std::vector<NodeIndex> sorted = by_load(nodes);
  std::ranges::stable_sort(sorted, std::greater{}, [&](NodeIndex node) { return problem_.pods_on(node).size(); });
  return sorted;
}

/// Those with pods, the last to be emptied first.
std::vector<NodeIndex> DefragmentationSearch::by_load(const Nodes& nodes) const {
  std::vector<std::tuple<std::uint32_t, double, NodeIndex>> keys;
  for (const FreeableNode& each : problem_.freeable()) {
    if (nodes[each.node] && !problem_.pods_on(each.node).empty()) keys.emplace_back(each.rank, each.load, each.node);
  }
  std::ranges::sort(keys, std::greater{});
  std::vector<NodeIndex> sorted;
  for (const auto& [rank, load, node] : keys) sorted.push_back(node);
  return sorted;
}

/// Between all of `emptying`, which do not go, and what is left without `left`: the most that goes.
void DefragmentationSearch::bisect(Nodes emptying, std::vector<NodeIndex> left) {
  std::size_t fails = 0;
  std::size_t works = left.size() + 1;
  std::size_t next = std::max<std::size_t>(left.size() / 4, 1);
  while (works - fails > 1 && !left.empty() && !budget_.is_over()) {
    Nodes fewer = emptying;
    for (std::size_t i = 0; i < next; ++i) fewer[left[i]] = false;
    if (attempt(fewer, {}, limits_.most_moves, budget_)) {
      works = next;
    } else {
      fails = next;
      if (next == left.size()) return bisect(std::move(fewer), left_);  // then without more of them
    }
    next = works > left.size() ? std::min(2 * next, left.size()) : (works + fails) / 2;
  }
}

/// Mostly one node more than the best plan, else as many with fewer moves; or fewer where moves have a price.
std::size_t DefragmentationSearch::wanted_now() {
  const std::size_t best = best_.emptied.size();
  if (best < limits_.most_freed && chance_.fraction() < kTryMore) return best + 1;
  return problem_.rules().weight_of_move > 0 && best > 1 && chance_.fraction() < 0.5 ? best - 1 : best;
}

/// The best plan's nodes, with a few exchanged and others added or taken out until there are `wanted`.
DefragmentationSearch::Nodes DefragmentationSearch::neighbour(std::size_t wanted) {
  Nodes nodes = best_nodes_;
  std::vector<std::tuple<std::uint32_t, double, NodeIndex>> in, out;
  for (const FreeableNode& each : problem_.freeable()) {
    if (problem_.pods_on(each.node).empty()) continue;
    const double key = (each.load + 0.01) * chance_.about_one(kKeyNoise);
    (nodes[each.node] ? in : out).emplace_back(each.rank, key, each.node);
  }
  std::ranges::sort(in, std::greater{});
  std::ranges::sort(out);
  const bool may_exchange = problem_.rules().empty_first.empty();
  std::size_t now = in.size();
  std::size_t removed = may_exchange ? chance_.below(3) : 0;
  if (now > wanted) removed = std::max(removed, now - wanted);
  for (std::size_t i = 0; i < std::min(removed, in.size()); ++i, --now) nodes[std::get<2>(in[i])] = false;
  for (std::size_t i = 0; i < out.size() && now < wanted; ++i, ++now) nodes[std::get<2>(out[i])] = true;
  return nodes;
}

/// As many nodes as there can be, and no pod moves but the fewest that have to.
bool DefragmentationSearch::is_perfect() const {
  if (best_.emptied.size() < limits_.most_freed) return false;
  std::vector<std::size_t> pods;
  for (const FreeableNode& each : problem_.freeable()) {
    if (!problem_.pods_on(each.node).empty()) pods.push_back(problem_.pods_on(each.node).size());
  }
  std::ranges::sort(pods);
  const auto last = pods.begin() + static_cast<std::ptrdiff_t>(best_.emptied.size());
  return best_.moves.size() <= std::accumulate(pods.begin(), last, std::size_t{0});
}

/// Mostly little noise, and now and then a closer look.
PackingStyle DefragmentationSearch::random_style() {
  const double luck = chance_.fraction();
  PackingStyle style{.noise = kNoise * luck * luck, .direct_first = chance_.below(2) == 0};
  if (chance_.below(3) != 0) return style;
  style.tries *= 4;
  style.ejected += 2;
  return style;
}

void DefragmentationSearch::improve() {
  int patience = kPatience;
  while (patience > 0 && !budget_.is_over() && !is_perfect()) {
    const std::size_t wanted = wanted_now();
    const std::size_t most = wanted > best_.emptied.size() ? limits_.most_moves : best_.moves.size() - 1;
    budget_.spend(kStepsOfAttempt + problem_.base().node_count());
    const std::pair before(best_.moves.size(), best_.emptied.size());
    attempt(neighbour(wanted), random_style(), std::min(most, limits_.most_moves), budget_);
    patience = std::pair(best_.moves.size(), best_.emptied.size()) == before ? patience - 1 : kPatience;
  }
}

/// Several nodes at once bring nothing: one that does, to which others may come.
void DefragmentationSearch::start_small() {
  Nodes empty(problem_.base().node_count(), false);
  for (const FreeableNode& each : problem_.freeable()) empty[each.node] = problem_.pods_on(each.node).empty();
  const std::vector<NodeIndex> nodes = by_load(Nodes(empty.size(), true));
  const std::size_t most = std::min(nodes.size(), kMostAlone);
  for (std::size_t i = 0; i < most && best_.moves.empty() && !budget_.is_over(); ++i) {
    Nodes alone = empty;
    alone[nodes[nodes.size() - 1 - i]] = true;
    attempt(alone, {}, limits_.most_moves, budget_);
  }
}

/// At least one of several, and none of one.
DefragmentationSearch::Nodes DefragmentationSearch::lightest_quarter(const Nodes& nodes) const {
  const std::vector<NodeIndex> sorted = by_load(nodes);
  const std::size_t kept = sorted.size() > 1 ? std::max<std::size_t>(sorted.size() / 4, 1) : 0;
  Nodes fewer(nodes.size(), false);
  for (const FreeableNode& each : problem_.freeable()) fewer[each.node] = problem_.pods_on(each.node).empty();
  for (std::size_t i = sorted.size() - kept; i < sorted.size(); ++i) fewer[sorted[i]] = true;
  return fewer;
}

/// The time has run out before any plan was complete: these nodes, or ever fewer, with a moment for each try.
void DefragmentationSearch::settle(Nodes nodes) {
  for (int tries = 0; tries < kMostMoments && busy_in(nodes) > 0; ++tries) {
    SearchBudget moment(kMoment, limits_.is_cancelled);
    if (moment.is_over() || attempt(nodes, {}, limits_.most_moves, moment)) return;
    nodes = busy_in(reached_) > 0 ? reached_ : lightest_quarter(nodes);
  }
}

void DefragmentationSearch::search() {
  const std::int64_t before = budget_.left();
  const Nodes first = choose_nodes(problem_, limits_.most_moves, budget_, chance_);
  if (busy_in(first) > 0 && !attempt(first, {}, limits_.most_moves, budget_)) bisect(first, left_);
  if (best_.moves.empty()) start_small();
  if (best_.moves.empty() && budget_.is_stopped())
    settle(busy_in(reached_) > 0 ? reached_ : busy_in(first) > 0 ? first : lightest_quarter(Nodes(first.size(), true)));
  if (best_.moves.empty()) return;
  // About as long again: an attempt costs as much as it did.
  budget_.grant(std::min(budget_.left(), std::clamp(before - budget_.left(), kLeastImproving, kMostImproving)));
  improve();
}

DefragmentationPlan DefragmentationSearch::run() {
  if (limits_.most_freed > 0) search();
  best_.is_cut_short = budget_.is_stopped() && best_.emptied.size() < limits_.most_freed;
  return std::move(best_);
}

}  // namespace strategies
