#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods of `scope` until no two pods of the cluster break a required anti-affinity, as far as they may leave:
/// either side of a conflict, the lowest priority first; namespaceSelector, matchLabelKeys and mismatchLabelKeys count;
/// the other side may be any active pod. A pod leaves only for a node where it breaks none.
void resolve_anti_affinity(const StrategyContext& context, NominationSink& sink, const PodScope& scope);

}  // namespace strategies
