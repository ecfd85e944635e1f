#pragma once

/// How most strategies go through the cluster: node by node, pods that may leave, one offer after the other.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/snapshot/cached_selector.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Which of a node's pods a strategy looks at. Pods that move already are never among them.
enum class PodStates { kActive, kAll };
std::vector<PodIndex> pods_on(const StrategyContext& context, NodeIndex node, PodStates states);

/// Which pods of the cluster the scope includes. Keeps references to both.
scheduling::CachedSelector pods_in(const PodScope& scope, const StrategyContext& context);

/// With this reason pods are refused once NominationSink::is_out_of_time().
inline constexpr scheduling::Refusal kCycleTimeout{
    "CycleTimeout", "the cycle has used up its time, or its namespace its share: the next one judges it"};

/// Why the first evictability filter, or the cycle's time, does not let the pod go; nullopt: they do. Nothing is
/// reported.
std::optional<scheduling::Refusal> protection_of(const StrategyContext& context, NominationSink& sink, PodIndex pod);
/// The same for the second filter (EvictabilityRules::refusal_before_eviction()).
std::optional<scheduling::Refusal> last_protection_of(const StrategyContext& context, NominationSink& sink,
                                                      PodIndex pod);

/// True if both evictability filters let the pod go. Otherwise the refusal is reported.
bool may_leave(const StrategyContext& context, NominationSink& sink, PodIndex pod);

/// Why the strategy is not given the node; nullopt: it is.
std::optional<scheduling::Refusal> why_not_looked_at(const StrategyContext& context, NodeIndex node);
/// Why the pod fits on none of the nodes that `is_better` accepts, by rule; nodes that the policy does not look at are
/// among them, its own is not. `cluster`: where pods are by then. "": there is no such node, or one takes the pod.
std::string why_on_none_of(const StrategyContext& context, const scheduling::WhatIf& cluster, PodIndex pod,
                           const Goal& is_better);

/// The placement that the sink predicts for the pod after it accepted it; nullopt: it does not predict.
std::optional<NodeIndex> placement_of(const StrategyContext& context, PodIndex pod);

/// How most strategies go on after an offer.
enum class AfterOffer { kNextPod, kNextNode, kStop };
/// A node at its limit: go to the next node. The total limit: stop. Anything else: the next pod.
AfterOffer after(NominationResult result);

/// Offers `pods` of one node in order. False: stop. `goal`: the placements that help a pod; empty: any.
bool offer_all(NominationSink& sink, const std::vector<PodIndex>& pods,
               const std::function<std::string(PodIndex)>& reason, const std::function<Goal(PodIndex)>& goal = {});

}  // namespace strategies
