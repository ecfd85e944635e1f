#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "planner/strategies/defragmentation/bound/bound.hpp"
#include "planner/strategies/defragmentation/node_choice.hpp"
#include "planner/strategies/defragmentation/wave_planner.hpp"

namespace strategies {

struct DefragmentationPlan {
  std::vector<NodeIndex> emptied;  ///< sorted; those that are empty already are not among them
  std::vector<NodeIndex> avoided;  ///< sorted; those that take no pods, the empty ones included
  std::vector<WaveMove> moves;
  Disturbance disturbance{};  ///< by all moves
  bool is_cut_short = false;  ///< somebody stopped the search, and more may be possible

  std::int32_t waves() const { return moves.empty() ? 0 : moves.back().wave; }
};

/// How far a search has come.
struct SearchState {
  DefragmentationPlan best{};      ///< whose neighbourhood is looked at
  std::vector<bool> best_nodes{};  ///< by node: it empties them
  DefragmentationPlan cheapest{};  ///< of those that are as good as that one, the one that disturbs the least
  std::int64_t steps_of_best = 0;  ///< of the last attempt from the beginning that worked
};

struct SearchLimits {
  std::size_t most_freed = 0;               ///< no plan frees more: LowerBound::most_freed()
  std::vector<std::size_t> fewest_moves{};  ///< fewest_moves()
  std::size_t most_moves = SIZE_MAX;        ///< in a plan
  std::function<bool()> is_cancelled{};     ///< nobody wants a plan any more; empty: never
  std::function<bool()> should_stop{};      ///< that, or the time is over; empty: never
  Executor executor{};                      ///< for the streams of the search (ADR 22)
};

/// Looks for the plan that is worth the most: first a greedy one, then better ones in its neighbourhood, by chance, in
/// several streams side by side. The same for the same seed, however many threads the executor has, unless somebody
/// stops it: then the best one so far, or if there is none yet a small one that takes a moment more, unless it is
/// cancelled.
class DefragmentationSearch {
 public:
  /// `capacities`: the problem's. `origin`: the cluster as it is, where moves are tried on forks; nullptr: nobody
  /// foresees anything, so there is no plan. Keeps references to everything but the limits.
  DefragmentationSearch(const DefragmentationProblem& problem, const Capacities& capacities,
                        const WhatIfPlacement* origin, bool chooses_targets, const SearchLimits& limits,
                        SearchBudget& budget, std::uint64_t seed);

  /// Without moves: nothing can be freed.
  DefragmentationPlan run();

  // --- one stream
  const SearchState& state() const { return state_; }
  /// True: `other` is worth more.
  bool is_behind(const SearchState& other) const;
  /// The same, or it disturbs less, has fewer waves or taints fewer nodes.
  bool is_worse_than(const SearchState& other) const;
  /// Goes on from there.
  void take(const SearchState& state) { state_ = state; }
  /// Better plans in the neighbourhood of the best one, until the budget is over or nothing was gained for long. How
  /// many attempts in a row gained nothing, the `failures` that it begins with included.
  int improve(std::int64_t most_steps, int failures);
  /// So many in a row without a gain are enough.
  bool is_hopeless_after(int failures) const;
  /// As many nodes as there can be with the fewest moves that can be, and no fewer nodes are worth more.
  bool is_perfect() const;

 private:
  static constexpr double kKeyNoise = 0.7;  ///< of efforts, when nodes are exchanged
  static constexpr double kTryMore = 0.6;   ///< share of the attempts that are about one more node

  void search();
  void improve_in_streams(std::int64_t steps, std::int64_t most_steps);
  void cheapen();
  using Nodes = std::vector<bool>;  ///< by node

  void bisect(Nodes emptying, std::vector<NodeIndex> left);
  bool is_far() const;
  bool attempt(const Nodes& emptying, PackingStyle style, std::size_t most_moves, SearchBudget& budget,
               const std::vector<WaveMove>& kept = {});
  std::vector<WaveMove> most_of_best(const Nodes& emptying);
  void improve_once(std::int64_t most_steps);
  void start_small();
  void settle(Nodes nodes);
  Nodes lightest_quarter(const Nodes& nodes) const;
  double value_of(std::size_t freed, std::size_t moves) const;
  std::size_t wanted_now();
  PackingStyle random_style();
  std::vector<double> random_keys();
  Nodes empty_nodes() const;
  PackingStyle first_style() const { return {.by_shape = problem_.has_unlike_pods()}; }
  Nodes any_neighbour(std::size_t wanted);
  Nodes neighbour(std::size_t wanted);
  std::size_t busy_in(const Nodes& nodes) const;
  bool is_better(std::size_t freed, std::size_t moves, const Nodes& avoided) const;
  std::vector<NodeIndex> by_load(const Nodes& nodes) const;
  std::vector<NodeIndex> by_moves(const Nodes& nodes) const;
  void consider(const Nodes& emptied, const Nodes& avoided, const std::vector<WaveMove>& moves);
  bool is_cheapest(const DefragmentationPlan& plan) const;
  std::vector<WaveMove> with_cheaper_pods(const DefragmentationPlan& plan, bool alike_only) const;
  void improve_by_holes();
  void extend(WavePlanner& realization, PackingStyle style, std::size_t most_moves, SearchBudget& budget);
  bool can_be_repeated(const WavePlanner& realization) const;

  const DefragmentationProblem& problem_;
  const Capacities& capacities_;
  const WhatIfPlacement* origin_;
  bool chooses_targets_;
  SearchLimits limits_;
  SearchBudget& budget_;
  Rng rng_;
  SearchState state_;
  Nodes reached_;                ///< what the last attempt that failed had emptied
  std::vector<NodeIndex> left_;  ///< what the last attempt that failed could do without
  double try_more_;              ///< share of the next attempts that are about one more node
  double left_size_ = 0;         ///< what its pods without a place take, in average nodes
};

}  // namespace strategies
