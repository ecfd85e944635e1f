#pragma once

#include <optional>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Returns what a strategy with these pools balances: measurements for `need`, or requests without it. Returns nullopt
/// if nothing is measured. With `with_means` false, BalanceSubject::means stays empty, which saves a pass over all
/// pods.
std::optional<BalanceSubject> subject_of(const StrategyContext& context,
                                         const std::optional<scheduling::UsageNeed>& need,
                                         const std::vector<NodePool>& pools, const Thresholds& own,
                                         bool with_means = true);

}  // namespace strategies
