#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Chooses as upstream does (upstream-semantics.md#anti-affinity): only the pod that carries the term leaves, both
/// sides are in `scope`, and pods of the same name never conflict.
void resolve_anti_affinity_upstream(const StrategyContext& context, NominationSink& sink, const PodScope& scope);

}  // namespace strategies
