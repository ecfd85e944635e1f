#pragma once

#include <optional>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// What a strategy with these pools evens out: by the need's figures, or by requests where there is none. nullopt:
/// nothing is measured. `with_means` false: BalanceSubject::means stays empty, which saves a walk through all pods.
std::optional<BalanceSubject> subject_of(const StrategyContext& context,
                                         const std::optional<scheduling::UsageNeed>& need,
                                         const std::vector<NodePool>& pools, const Thresholds& own,
                                         bool with_means = true);

}  // namespace strategies
