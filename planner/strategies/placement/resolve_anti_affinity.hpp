#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods of `scope` until no two pods of the cluster violate a required anti-affinity, as far as pods may
/// leave. Either side of a conflict may leave, the lowest priority first. Considers namespaceSelector, matchLabelKeys
/// and mismatchLabelKeys. The other side may be any active pod. A pod leaves only for a node where it violates none.
void resolve_anti_affinity(const StrategyContext& context, NominationSink& sink, const PodScope& scope);

}  // namespace strategies
