#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/well_known.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Trimaran's score of a node at `percent` load. It grows from `target` to 100 until the target is reached, then falls
/// to 0 at 100 %, with a drop right above the target. Nodes are therefore packed up to the target, and the rest is
/// spread.
double target_load_score(double percent, double target);

/// Packs nodes up to a target percentage of measured load and spreads the load above it
/// (docs/strategies/target-load-packing.md). Pods of nodes above the target move to nodes where target_load_score() is
/// better by a margin. In a pool without such nodes, nodes with at most half of the target are emptied, completely or
/// not at all, onto the fullest nodes below the target.
struct TargetLoadPacking {
  static constexpr std::string_view kName = "TargetLoadPacking";
  static constexpr StrategyPhase kPhase = StrategyPhase::kBalance;

  UsageArgs usage;
  PoolThresholds target;  ///< Only `high` is used
  double margin = 5;      ///< Minimum improvement of the score, 0 … 100
  bool pack = true;       ///< If false, only load above the target is spread
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;

  static TargetLoadPacking read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
  StrategyNeeds needs() const {
    return {.usage = {usage.need}, .soft_taint = usage.soft_taint ? api::well_known::kLoadedTaint : std::string_view()};
  }
  std::optional<BalanceSubject> balances(const StrategyContext& context) const;
};

}  // namespace strategies
