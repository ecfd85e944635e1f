#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/strategies/defragmentation/bound/bound.hpp"
#include "planner/strategies/defragmentation/node_choice.hpp"
#include "planner/strategies/defragmentation/wave_planner.hpp"

namespace strategies {

struct DefragmentationPlan {
  std::vector<NodeIndex> emptied;  ///< sorted; excludes nodes that were already empty
  std::vector<NodeIndex> avoided;  ///< sorted nodes that take no pods, including empty ones
  std::vector<WaveMove> moves;
  Disturbance disturbance{};  ///< sum over all moves
  bool is_cut_short = false;  ///< the search was stopped, so more may be possible

  std::int32_t waves() const { return moves.empty() ? 0 : moves.back().wave; }
};

/// Progress of a search.
struct SearchState {
  DefragmentationPlan best{};      ///< best plan, whose neighborhood is searched
  std::vector<bool> best_nodes{};  ///< indexed by node: emptied by `best`
  DefragmentationPlan cheapest{};  ///< plan with the least disturbance among those as good as `best`
  std::int64_t steps_of_best = 0;  ///< steps of the last successful attempt from scratch
};

struct SearchLimits {
  std::size_t max_freed = 0;                ///< upper bound of freed nodes: LowerBound::max_freed()
  std::vector<std::size_t> fewest_moves{};  ///< see fewest_moves()
  std::size_t most_moves = SIZE_MAX;        ///< maximum moves in a plan
  std::function<bool()> is_cancelled{};     ///< returns true if the plan is no longer needed; may be empty
  std::function<bool()> should_stop{};      ///< is_cancelled or time is up; may be empty
  Executor executor{};                      ///< runs the streams of the search (ADR 22)
};

/// Searches for the plan with the highest value: first a greedy plan, then random improvements in its neighborhood, in
/// several concurrent streams. Deterministic for a seed, regardless of the executor's threads, unless it is stopped.
/// When stopped it returns the best plan so far; if there is none yet, it takes a moment longer to find a small one,
/// unless it is cancelled.
class DefragmentationSearch {
 public:
  /// `capacities` belongs to the problem. `origin` is the current cluster; moves are tried on forks of it. If it is
  /// nullptr, placements cannot be predicted and there is no plan. Keeps references to all arguments except the limits.
  DefragmentationSearch(const DefragmentationProblem& problem, const Capacities& capacities,
                        const WhatIfPlacement* origin, bool chooses_targets, const SearchLimits& limits,
                        SearchBudget& budget, std::uint64_t seed);

  /// Returns the best plan. It has no moves if no node can be freed.
  DefragmentationPlan run();

  // --- One stream
  const SearchState& state() const { return state_; }
  /// Returns true if `other` has a higher value.
  bool is_behind(const SearchState& other) const;
  /// Returns true if `other` has a higher value, or the same value with less disturbance, fewer waves or fewer tainted
  /// nodes.
  bool is_worse_than(const SearchState& other) const;
  void take(const SearchState& state) { state_ = state; }
  /// Searches the neighborhood of the best plan until the budget is used up or too many attempts fail. Returns the
  /// number of consecutive attempts without gain, including the initial `failures`.
  int improve(std::int64_t most_steps, int failures);
  /// Returns true if this number of consecutive failures ends the search.
  bool is_hopeless_after(int failures) const;
  /// Returns true if the best plan reaches the bounds of freed nodes and moves, and no smaller plan has a higher value.
  bool is_perfect() const;

 private:
  static constexpr double kKeyNoise = 0.7;  ///< noise of efforts when nodes are exchanged
  static constexpr double kTryMore = 0.6;   ///< share of attempts that try one more node

  void search();
  void improve_in_streams(std::int64_t steps, std::int64_t most_steps);
  void cheapen();
  using Nodes = std::vector<bool>;  ///< indexed by node

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
  void improve_by_gaps();
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
  Nodes reached_;                ///< nodes emptied by the last failed attempt
  std::vector<NodeIndex> left_;  ///< nodes that the last failed attempt could leave out
  double try_more_;              ///< share of next attempts that try one more node
  double left_size_ = 0;         ///< size of its pods without a place, in average nodes
};

}  // namespace strategies
