#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "strategies/defragmentation/bound.hpp"
#include "strategies/defragmentation/realization.hpp"

namespace strategies {

struct DefragmentationPlan {
  std::vector<NodeIndex> emptied;  ///< sorted; those that are empty already are not among them
  std::vector<NodeIndex> avoided;  ///< sorted; those that take no pods, the empty ones included
  std::vector<WaveMove> moves;
  bool is_cut_short = false;  ///< somebody stopped the search, and more may be possible
};

struct SearchLimits {
  std::size_t most_freed = 0;            ///< no plan frees more: LowerBound::most_freed()
  std::size_t most_moves = SIZE_MAX;     ///< in a plan
  std::function<bool()> is_cancelled{};  ///< nobody wants a plan any more; empty: never
};

/// Looks for the plan that is worth the most: first a greedy one, then better ones in its neighbourhood, by chance. The
/// same for the same seed, unless somebody stops it: then the best one so far, or if there is none yet a small one that
/// takes a moment more, unless it is cancelled.
class DefragmentationSearch {
 public:
  DefragmentationSearch(const DefragmentationProblem& problem, const NominationSink& sink, const SearchLimits& limits,
                        SearchBudget& budget, std::uint64_t seed);

  /// Without moves: nothing can be freed.
  DefragmentationPlan run();

 private:
  void search();
  using Nodes = std::vector<bool>;  ///< by node

  void bisect(Nodes emptying, std::vector<NodeIndex> left);
  void improve(std::int64_t most_steps);
  bool is_far() const;
  bool is_perfect() const;
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
  Nodes neighbour(std::size_t wanted);
  std::size_t busy_in(const Nodes& nodes) const;
  bool is_better(std::size_t freed, std::size_t moves, const Nodes& avoided) const;
  std::vector<NodeIndex> by_load(const Nodes& nodes) const;
  std::vector<NodeIndex> by_moves(const Nodes& nodes) const;
  void keep(const Nodes& emptied, const Nodes& avoided, const std::vector<WaveMove>& moves);
  void improve_by_holes();
  void extend(Realization& realization, PackingStyle style, std::size_t most_moves, SearchBudget& budget);
  bool can_be_repeated(const Realization& realization) const;

  const DefragmentationProblem& problem_;
  const NominationSink& sink_;
  SearchLimits limits_;
  SearchBudget& budget_;
  Chance chance_;
  DefragmentationPlan best_;
  Nodes best_nodes_;
  Nodes reached_;                   ///< what the last attempt that failed had emptied
  std::vector<NodeIndex> left_;     ///< what the last attempt that failed could do without
  std::int64_t steps_of_best_ = 0;  ///< of the last attempt from the beginning that worked
  double try_more_ = 0;             ///< share of the next attempts that are about one more node
  double left_size_ = 0;            ///< what its pods without a place take, in average nodes
};

}  // namespace strategies
