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

}  // namespace

DefragmentationSearch::DefragmentationSearch(const DefragmentationProblem& problem, const NominationSink& sink,
                                             const SearchLimits& limits, SearchBudget& budget, std::uint64_t seed)
    : problem_(problem), sink_(sink), limits_(limits), budget_(budget), chance_(seed) {}

std::size_t DefragmentationSearch::busy_in(const Nodes& nodes) const {
  return static_cast<std::size_t>(std::ranges::count_if(problem_.freeable(), [&](const FreeableNode& each) {
    return nodes[each.node] && !problem_.pods_on(each.node).empty();
  }));
}

bool DefragmentationSearch::is_better(std::size_t freed, std::size_t moves) const {
  const auto value = [&](std::size_t nodes, std::size_t cost) {
    const DefragmentationRules& rules = problem_.rules();
    return rules.weight_of_node * static_cast<double>(nodes) - rules.weight_of_move * static_cast<double>(cost);
  };
  const double now = value(freed, moves);
  const double best = value(best_.emptied.size(), best_.moves.size());
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

/// True: all of them can be emptied. Kept if that is better than what is known.
bool DefragmentationSearch::attempt(const Nodes& emptying, PackingStyle style, std::size_t most_moves) {
  auto rehearsal = sink_.rehearse();
  if (!rehearsal) return false;
  Realization realization(problem_, std::move(rehearsal), emptying, sink_.chooses_targets(), style, budget_, chance_);
  const bool works = realization.run(most_moves);
  if (works && is_better(busy_in(emptying), realization.moves().size())) keep(emptying, realization.moves());
  if (works) return true;
  left_ = realization.left();
  if (left_.empty() || realization.moves().size() > most_moves) left_ = by_load(emptying);
  return false;
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
    if (attempt(fewer, {}, limits_.most_moves)) {
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
    const std::size_t before = best_.moves.size();
    attempt(neighbour(wanted), random_style(), std::min(most, limits_.most_moves));
    patience = best_.moves.size() == before && best_.emptied.size() <= wanted ? patience - 1 : kPatience;
  }
}

DefragmentationPlan DefragmentationSearch::run() {
  const std::int64_t before = budget_.left();
  const Nodes first = choose_nodes(problem_, limits_.most_moves, budget_, chance_);
  if (busy_in(first) == 0 || limits_.most_freed == 0) return {};
  if (!attempt(first, {}, limits_.most_moves)) bisect(first, left_);
  if (best_.moves.empty()) return {};
  // About as long again: an attempt costs as much as it did.
  budget_.grant(std::min(budget_.left(), std::clamp(before - budget_.left(), kLeastImproving, kMostImproving)));
  improve();
  return std::move(best_);
}

}  // namespace strategies
