#pragma once

#include <optional>

#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"
#include "planner/strategies/uneven_counts.hpp"

namespace strategies {

/// Moves pods, one at a time, until no constraint is broken or no move helps: the fewest moves for all constraints of a
/// namespace that share pods (component.hpp). Counts what the scheduler counts, obeys minDomains, and takes the lowest
/// priority first; a pod that has no better node makes way for the next. Reports to the sink how uneven the domains are
/// before and after.
void balance(const StrategyContext& context, NominationSink& sink,
             const RemovePodsViolatingTopologySpreadConstraint::Args& args);

/// How uneven the domains are as the context has them, counted in the same way; nullopt: the cycle's time did not
/// suffice. Offers nothing.
std::optional<UnevenCounts> count_by_domain(const StrategyContext& context, NominationSink& sink,
                                            const RemovePodsViolatingTopologySpreadConstraint::Args& args);

}  // namespace strategies
