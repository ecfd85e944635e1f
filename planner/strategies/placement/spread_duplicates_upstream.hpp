#pragma once

#include <unordered_set>

#include "planner/strategies/placement/remove_duplicates.hpp"

namespace strategies {

/// Chooses as upstream does (upstream-semantics.md#remove-duplicates): counts only pods that may leave, takes cordoned
/// and unready nodes for targets, and offers a pod once for each of its owners. Returns the pods above their node's
/// share, which the sink has judged as far as its limits let it.
std::unordered_set<PodIndex> spread_duplicates_upstream(const StrategyContext& context, NominationSink& sink,
                                                        const RemoveDuplicates::Args& args);

}  // namespace strategies
