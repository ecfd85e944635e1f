#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "strategies/defragmentation/bound.hpp"
#include "strategies/defragmentation/realization.hpp"

namespace strategies {

struct DefragmentationPlan {
  std::vector<NodeIndex> emptied;  ///< sorted; those that are empty already are not among them
  std::vector<NodeIndex> avoided;  ///< sorted; those that take no pods, the empty ones included
  std::vector<WaveMove> moves;
};

struct SearchLimits {
  std::size_t most_freed = 0;         ///< no plan frees more: LowerBound::most_freed()
  std::size_t most_moves = SIZE_MAX;  ///< in a plan
};

/// Looks for the plan that frees the most nodes, with the fewest moves: first one by a greedy choice, then better ones
/// in its neighbourhood, until the budget is spent. The same for the same seed, unless somebody stops it.
class DefragmentationSearch {
 public:
  DefragmentationSearch(const DefragmentationProblem& problem, const NominationSink& sink, const SearchLimits& limits,
                        SearchBudget& budget, std::uint64_t seed);

  /// Without moves: nothing can be freed.
  DefragmentationPlan run();

 private:
  using Nodes = std::vector<bool>;  ///< by node

  void improve();
  void bisect(Nodes emptying, std::vector<NodeIndex> left);
  bool attempt(const Nodes& emptying, PackingStyle style, std::size_t most_moves);
  Nodes neighbour();
  std::size_t busy_in(const Nodes& nodes) const;
  void keep(const Nodes& emptying, const Realization& realization);

  const DefragmentationProblem& problem_;
  const NominationSink& sink_;
  SearchLimits limits_;
  SearchBudget& budget_;
  Chance chance_;
  DefragmentationPlan best_;
  Nodes best_nodes_;
  std::vector<NodeIndex> left_;  ///< by the last attempt that failed
};

}  // namespace strategies
