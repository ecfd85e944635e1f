#pragma once

/// How the lifetime strategies go through the cluster.

#include <functional>
#include <optional>
#include <vector>

#include "strategies/criteria.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// What stands in the way of a pod that meets the criteria, beside evictability.
using Objection = std::function<std::optional<scheduling::Refusal>(PodIndex pod)>;

Subject subject_of(const Context& context, PodIndex pod);

/// Pods of `node`, in any state, that meet the criteria and may leave, by name. Pods that are protected are reported.
std::vector<PodIndex> pods_that_meet(const Context& context, NominationSink& sink, NodeIndex node,
                                     const Criteria& criteria, const Objection& objection = {});

/// Offers the pods of all nodes that meet the criteria, the oldest first. A node or namespace at its limit does not
/// end it: the next pod may be elsewhere.
void offer_oldest_first(const Context& context, NominationSink& sink, const Criteria& criteria,
                        const Objection& objection);

}  // namespace strategies
