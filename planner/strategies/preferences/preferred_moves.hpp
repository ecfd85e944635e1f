#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "planner/strategies/preferences/preference_gain.hpp"
#include "planner/strategies/search_budget.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

struct PreferredMove {
  PodIndex pod;
  NodeIndex to;
};

/// Finds moves after which every pod is content: no preference would be met better, by `least_gain` points, on a node
/// where the scheduler would put the pod. So the same search on the outcome finds nothing. Each pod moves once. A pod
/// that would have to move on because of the moves of others stays, and if no such order is found nothing moves.
class PreferredMoves {
 public:
  /// `pods` in an order that does not depend on where they are. `may_go` is asked of each at most once, when it would
  /// move.
  PreferredMoves(const StrategyContext& context, std::unique_ptr<WhatIfPlacement> placement, const PreferenceGain& gain,
                 double least_gain, std::vector<PodIndex> pods, std::function<bool(PodIndex)> may_go,
                 SearchBudget& budget);

  /// In the order they are to be made; none once the budget is over. Call it once.
  std::vector<PreferredMove> find();

 private:
  using Pods = std::unordered_set<PodIndex>;

  std::optional<std::vector<PreferredMove>> settle(const Pods& moved_before);
  std::vector<PreferredMove> run_passes(const Pods& moved_before, const Pods& staying, Pods& restless);
  std::optional<PreferredMove> try_to_move(PodIndex pod);
  std::optional<PreferredMove> relocate(PodIndex pod);
  bool may_go(PodIndex pod);

  std::unique_ptr<WhatIfPlacement> placement_;
  const PreferenceGain& gain_;
  double least_gain_;
  std::vector<PodIndex> pods_;
  std::function<bool(PodIndex)> asks_;
  SearchBudget& budget_;
  std::vector<char> answers_;       ///< by pod: 0 not asked, 1 no, 2 yes
  std::vector<bool> is_in_scope_;  ///< by node
};

}  // namespace strategies
