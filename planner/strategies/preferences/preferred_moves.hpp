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

/// Searches moves after which every pod is settled: no preference would be met better, by `min_gain` points, on a
/// node where the scheduler would place the pod. The same search on the result finds no moves. Each pod moves at most
/// once. A pod that would have to move again because of other moves stays. If no such sequence is found, the result is
/// empty.
class PreferredMoves {
 public:
  /// The order of `pods` must not depend on their nodes. `may_go` is called at most once per pod, when it would move.
  PreferredMoves(const StrategyContext& context, std::unique_ptr<WhatIfPlacement> placement, const PreferenceGain& gain,
                 double min_gain, std::vector<PodIndex> pods, std::function<bool(PodIndex)> may_go,
                 SearchBudget& budget);

  /// Returns the moves in the order in which they must be made, or none if the budget is exhausted. Call once.
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
  std::function<bool(PodIndex)> may_go_;
  SearchBudget& budget_;
  std::vector<char> answers_;      ///< by pod: 0 not asked, 1 no, 2 yes
  std::vector<bool> is_in_scope_;  ///< by node
};

}  // namespace strategies
