#pragma once

#include <unordered_set>

#include "planner/strategies/placement/remove_duplicates.hpp"
#include "planner/strategies/uneven_counts.hpp"

namespace strategies {

/// Takes pods of one owner and images off nodes that hold more than their share, to nodes that hold less. Counts all
/// active pods of the owner, cordoned and unready nodes are no targets, the lowest priority leaves first, and nobody is
/// nominated twice. Tells the sink how uneven nodes are before and after.
void spread_duplicates(const StrategyContext& context, NominationSink& sink, const RemoveDuplicates::Args& args);

/// How unevenly nodes hold duplicates as the context has them, counted in the same way. Offers nothing.
UnevenCounts count_duplicates(const StrategyContext& context, NominationSink& sink, const RemoveDuplicates::Args& args);

/// As count_duplicates(), and reports what keeps pods on nodes that hold more than their share. `judged`: pods that the
/// sink has judged; they are not reported.
UnevenCounts explain_duplicates(const StrategyContext& context, NominationSink& sink,
                                const RemoveDuplicates::Args& args, const std::unordered_set<PodIndex>& judged);

}  // namespace strategies
