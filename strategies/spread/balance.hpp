#pragma once

#include "strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"
#include "strategies/uneven_counts.hpp"

namespace strategies {

/// Moves pods out of overfull domains, one at a time, until no constraint is broken or no move helps. All constraints
/// of a namespace are looked at together: a move must lower the number of pods too many over all of them. Counts what
/// the scheduler counts, obeys minDomains, and takes the lowest priority first; a pod that has nowhere better to go
/// makes way for the next. Tells the sink how uneven
/// the domains are before and after.
void balance(const StrategyContext& context, NominationSink& sink,
             const RemovePodsViolatingTopologySpreadConstraint::Args& args);

/// How uneven the domains are as the context has them, counted in the same way. Offers nothing.
UnevenCounts count_by_domain(const StrategyContext& context, NominationSink& sink,
                             const RemovePodsViolatingTopologySpreadConstraint::Args& args);

}  // namespace strategies
