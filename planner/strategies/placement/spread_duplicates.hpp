#pragma once

#include <unordered_set>

#include "planner/strategies/placement/remove_duplicates.hpp"
#include "planner/strategies/uneven_counts.hpp"

namespace strategies {

/// Moves pods of the same owner and images from nodes with more than their share to nodes with less. Counts all active
/// pods of the owner. Cordoned and unready nodes are no destinations. The lowest priority leaves first, and each pod
/// is nominated at most once. Reports the imbalance before and after to the sink.
void spread_duplicates(const StrategyContext& context, NominationSink& sink, const RemoveDuplicates::Args& args);

/// Counts the imbalance of duplicates in the context, as spread_duplicates() does. Offers no pods.
UnevenCounts count_duplicates(const StrategyContext& context, NominationSink& sink, const RemoveDuplicates::Args& args);

/// Counts like count_duplicates(), and reports what keeps pods on nodes that hold more than their share. `judged`: pods
/// that the sink has judged; they are not reported.
UnevenCounts explain_duplicates(const StrategyContext& context, NominationSink& sink,
                                const RemoveDuplicates::Args& args, const std::unordered_set<PodIndex>& judged);

}  // namespace strategies
