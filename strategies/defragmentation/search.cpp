#include "strategies/defragmentation/search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "strategies/defragmentation/node_choice.hpp"

namespace strategies {
namespace {

constexpr double kNoise = 0.3;  // of sizes, so that equal attempts end differently

}  // namespace

DefragmentationSearch::DefragmentationSearch(const DefragmentationProblem& problem, const NominationSink& sink,
                                             const SearchLimits& limits, SearchBudget& budget, std::uint64_t seed)
    : problem_(problem), sink_(sink), limits_(limits), budget_(budget), chance_(seed) {}

std::size_t DefragmentationSearch::busy_in(const Nodes& nodes) const {
  std::size_t count = 0;
  for (const FreeableNode& each : problem_.freeable())
    count += nodes[each.node] && !problem_.pods_on(each.node).empty() ? 1 : 0;
  return count;
}

void DefragmentationSearch::keep(const Nodes& emptying, const Realization& realization) {
  best_nodes_ = emptying;
  best_ = {};
  best_.moves = realization.moves();
  for (const FreeableNode& each : problem_.freeable()) {
    if (!emptying[each.node]) continue;
    best_.avoided.push_back(each.node);
    if (!problem_.pods_on(each.node).empty()) best_.emptied.push_back(each.node);
  }
}

/// True: it works, and is kept.
bool DefragmentationSearch::attempt(const Nodes& emptying, PackingStyle style, std::size_t most_moves) {
  auto rehearsal = sink_.rehearse();
  if (!rehearsal) return false;
  Realization realization(problem_, std::move(rehearsal), emptying, style, budget_, chance_);
  const bool works = realization.run(most_moves);
  if (getenv("DBG")) fprintf(stderr, "attempt: emptying %zu %s left %zu moves %zu waves %d steps %ldk\n", busy_in(emptying), works ? "ok": "-", realization.left().size(), realization.moves().size(), realization.moves().empty() ? 0 : realization.moves().back().wave, (long)budget_.left()/1000);
  if (works) keep(emptying, realization);
  if (!works) left_ = realization.left();
  return works;
}

/// Between all of `emptying`, which do not go, and what is left without `left`: the most that goes.
void DefragmentationSearch::bisect(Nodes emptying, std::vector<NodeIndex> left) {
  std::size_t fails = 0;
  std::size_t works = left.size() + 1;
  std::size_t next = std::max<std::size_t>(left.size() / 4, 1);
  while (works - fails > 1 && !budget_.is_over()) {
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

/// One more node than the best plan, or as many with fewer moves.
DefragmentationSearch::Nodes DefragmentationSearch::neighbour() {
  const std::size_t best = best_.emptied.size();
  const std::size_t wanted = best < limits_.most_freed && chance_.fraction() < 0.8 ? best + 1 : best;
  Nodes nodes = best_nodes_;
  std::vector<std::pair<double, NodeIndex>> in, out;
  for (const FreeableNode& each : problem_.freeable()) {
    if (problem_.pods_on(each.node).empty()) continue;
    const double key = (each.load + 0.01) * chance_.about_one(0.7);
    (nodes[each.node] ? in : out).emplace_back(key, each.node);
  }
  std::ranges::sort(in, std::greater{});
  std::ranges::sort(out);
  std::size_t exchanged = chance_.below(3);
  if (exchanged == 0 && wanted == best) exchanged = chance_.below(2);
  for (std::size_t i = 0; i < std::min(exchanged, in.size()); ++i) nodes[in[i].second] = false;
  std::size_t now = busy_in(nodes);
  for (std::size_t i = 0; i < out.size() && now < wanted; ++i, ++now) nodes[out[i].second] = true;
  return nodes;
}

void DefragmentationSearch::improve() {
  while (!budget_.is_over()) {
    const Nodes nodes = neighbour();
    const std::size_t freed = busy_in(nodes);
    if (freed < best_.emptied.size()) continue;
    const bool is_more = freed > best_.emptied.size();
    const std::size_t most = is_more ? limits_.most_moves : best_.moves.size() - 1;
    attempt(nodes, {.depth = 2, .noise = kNoise * std::pow(chance_.fraction(), 2)}, std::min(most, limits_.most_moves));
  }
}

DefragmentationPlan DefragmentationSearch::run() {
  const std::int64_t all = budget_.left();
  const Nodes first = choose_nodes(problem_, {}, budget_, chance_);
  if (getenv("DBG")) fprintf(stderr, "chosen %zu of at most %zu, steps %ldk\n", busy_in(first), limits_.most_freed, (long)budget_.left()/1000);
  if (busy_in(first) > 0 && !attempt(first, {}, limits_.most_moves)) bisect(first, left_);
  // What took longer than the whole budget allows of the rest would not end in time anyway.
  static_cast<void>(all);
  if (!best_.moves.empty()) improve();
  return std::move(best_);
}

}  // namespace strategies
