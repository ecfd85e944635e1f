#pragma once

#include <optional>

#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"
#include "planner/strategies/uneven_counts.hpp"

namespace strategies {

/// Moves pods one at a time until no constraint is violated or no move helps. Uses the minimum number of moves for all
/// constraints of a namespace that share pods (component.hpp). Counts the pods that the scheduler counts, respects
/// minDomains, and moves pods of the lowest priority first; a pod without a better node is skipped. Reports the
/// unevenness of domains before and after to the sink.
void balance(const StrategyContext& context, NominationSink& sink, const SpreadArgs& args);

/// Returns the unevenness of domains in the context's cluster, counted as by balance(). Returns nullopt if the cycle's
/// time is used up. Offers no pods.
std::optional<UnevenCounts> count_by_domain(const StrategyContext& context, NominationSink& sink,
                                            const SpreadArgs& args);

/// Chooses exactly the pods that upstream chooses (upstream-semantics.md#topology-spread): each constraint separately,
/// only evictable pods counted, minDomains ignored, victims of the highest priority first.
void balance_upstream(const StrategyContext& context, NominationSink& sink, const SpreadArgs& args);

}  // namespace strategies
