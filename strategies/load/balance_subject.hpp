#pragma once

#include <optional>
#include <vector>

#include "strategies/strategy.hpp"
#include "strategies/utilization/usage_args.hpp"

namespace strategies {

/// What a strategy with these pools evens out: by the need's figures, or by requests where there is none. nullopt:
/// nothing is measured.
std::optional<BalanceSubject> subject_of(const StrategyContext& context,
                                         const std::optional<scheduling::UsageNeed>& need,
                                         const std::vector<NodePool>& pools, const Thresholds& own);

}  // namespace strategies
