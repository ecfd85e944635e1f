#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Upstream's selection (upstream-semantics.md#anti-affinity): only the pod with the term leaves, both sides are in
/// `scope`, and pods with the same name never conflict.
void resolve_anti_affinity_upstream(const StrategyContext& context, NominationSink& sink, const PodScope& scope);

}  // namespace strategies
