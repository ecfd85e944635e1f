#pragma once

/// Helpers for strategies that iterate over the cluster node by node and offer pods one by one.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/snapshot/cached_selector.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Pods of a node that a strategy considers. Pods that already move are always excluded.
enum class PodStates { kActive, kAll };
std::vector<PodIndex> pods_on(const StrategyContext& context, NodeIndex node, PodStates states);

/// Selects the pods of the cluster that the scope includes. Keeps references to both arguments.
scheduling::CachedSelector pods_in(const PodScope& scope, const StrategyContext& context);

/// Reason of refusals after NominationSink::is_out_of_time().
inline constexpr scheduling::Refusal kCycleTimeout{
    "CycleTimeout", "the cycle has spent its time, or the namespace its share: the next cycle evaluates it"};

/// Returns why the first evictability filter or the cycle's time keeps the pod, or nullopt if both let it go. Does not
/// report the refusal.
std::optional<scheduling::Refusal> protection_refusal(const StrategyContext& context, NominationSink& sink,
                                                      PodIndex pod);
/// Returns why the second evictability filter (EvictabilityRules::refusal_before_eviction()) or the cycle's time keeps
/// the pod, or nullopt if both let it go. Does not report the refusal.
std::optional<scheduling::Refusal> last_protection_of(const StrategyContext& context, NominationSink& sink,
                                                      PodIndex pod);

/// Returns true if both evictability filters let the pod go. Otherwise reports the refusal.
bool may_leave(const StrategyContext& context, NominationSink& sink, PodIndex pod);

/// Returns why the node is out of the strategy's scope, or nullopt if it is in scope.
std::optional<scheduling::Refusal> why_out_of_scope(const StrategyContext& context, NodeIndex node);
/// Explains by rule why the pod fits none of the nodes that `is_better` accepts. Includes nodes out of the policy's
/// scope, but not the pod's own. `cluster` contains the placement at that time. Returns "" if there is no such node or
/// one of them fits the pod.
std::string why_on_none_of(const StrategyContext& context, const scheduling::WhatIf& cluster, PodIndex pod,
                           const Goal& is_better);

/// Returns the placement that the sink predicts for an accepted pod, or nullopt if the sink does not predict.
std::optional<NodeIndex> placement_of(const StrategyContext& context, PodIndex pod);

/// How most strategies continue after an offer.
enum class AfterOffer { kNextPod, kNextNode, kStop };
/// Returns kNextNode at a node limit, kStop at the total limit, and kNextPod otherwise.
AfterOffer after(NominationResult result);

/// Offers `pods` of one node in order. Returns false if the strategy must stop. `goal` returns the placements that help
/// a pod; any placement helps if it is empty.
bool offer_all(NominationSink& sink, const std::vector<PodIndex>& pods,
               const std::function<std::string(PodIndex)>& reason, const std::function<Goal(PodIndex)>& goal = {});

}  // namespace strategies
