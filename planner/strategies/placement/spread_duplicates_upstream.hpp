#pragma once

#include "planner/strategies/placement/remove_duplicates.hpp"

namespace strategies {

/// Upstream's selection (upstream-semantics.md#remove-duplicates): counts only pods that may leave, accepts cordoned
/// and unready nodes as destinations, and offers a pod once for each of its owners.
void spread_duplicates_upstream(const StrategyContext& context, NominationSink& sink,
                                const RemoveDuplicates::Args& args);

}  // namespace strategies
