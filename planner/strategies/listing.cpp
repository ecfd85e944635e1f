#include "planner/strategies/listing.hpp"

#include <algorithm>
#include <cstdlib>

#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/autoscaler_marks.hpp"

namespace strategies {

std::vector<PodIndex> pods_on(const StrategyContext& context, NodeIndex node, PodStates states) {
  std::vector<PodIndex> pods;
  context.cluster.for_each_on(node, [&](PodIndex pod) {
    if (context.cluster.is_moved(pod)) return;
    if (states == PodStates::kAll || context.cluster.base().is_active(pod)) pods.push_back(pod);
  });
  return pods;
}

scheduling::CachedSelector pods_in(const PodScope& scope, const StrategyContext& context) {
  return {context.cluster.base(), [&scope](const api::Pod& pod) { return scope.includes(pod); }};
}

std::optional<scheduling::Refusal> protection_refusal(const StrategyContext& context, NominationSink& sink,
                                                      PodIndex pod) {
  return sink.is_out_of_time(pod) ? kCycleTimeout : context.evictability.refusal(pod);
}

std::optional<scheduling::Refusal> last_protection_of(const StrategyContext& context, NominationSink& sink,
                                                      PodIndex pod) {
  return sink.is_out_of_time(pod) ? kCycleTimeout : context.evictability.refusal_before_eviction(pod, context.cluster);
}

bool may_leave(const StrategyContext& context, NominationSink& sink, PodIndex pod) {
  auto refusal = protection_refusal(context, sink, pod);
  if (!refusal) refusal = context.evictability.refusal_before_eviction(pod, context.cluster);
  if (refusal) sink.refused(pod, *refusal);
  return !refusal;
}

std::optional<scheduling::Refusal> why_out_of_scope(const StrategyContext& context, NodeIndex node) {
  using scheduling::Refusal;
  if (std::ranges::binary_search(context.nodes, node)) return std::nullopt;
  const api::Node& object = context.cluster.base().node(node);
  if (!scheduling::accepts_pods(object)) return Refusal{"NodeNotReady", "the node is not ready"};
  if (!context.is_upstream() && scheduling::removal_of(object) != scheduling::NodeRemoval::kNone)
    return Refusal{"NodeTakesNoPods", "the node is about to be removed"};
  return Refusal{"NotSelected", "spec.nodeSelector does not select the node"};
}

std::string why_on_none_of(const StrategyContext& context, const scheduling::WhatIf& cluster, PodIndex pod,
                           const Goal& is_better) {
  scheduling::Misfits misfits(cluster.base());
  const auto query = cluster.fit_query(pod, context.evictability.fit_level());
  for (const NodeIndex node : cluster.base().nodes()) {
    if (misfits.nodes() == scheduling::kMaxCheckedNodes) break;
    if (node == cluster.base().node_of(pod) || !is_better(node)) continue;
    auto refusal = why_out_of_scope(context, node);
    if (!refusal) refusal = query->refusal_ignoring_capacity(node);
    if (!refusal) refusal = query->refusal(node);
    if (!refusal) return {};
    misfits.add(node, *refusal);
  }
  return misfits.text();
}

std::optional<NodeIndex> placement_of(const StrategyContext& context, PodIndex pod) {
  if (!context.cluster.is_moved(pod) || context.cluster.node_of(pod) == scheduling::kNoNode) return std::nullopt;
  return context.cluster.node_of(pod);
}

AfterOffer after(NominationResult result) {
  switch (result) {
    case NominationResult::kAccepted:
    case NominationResult::kNamespaceLimit:
    case NominationResult::kRefused: return AfterOffer::kNextPod;
    case NominationResult::kNodeLimit: return AfterOffer::kNextNode;
    case NominationResult::kTotalLimit: return AfterOffer::kStop;
  }
  std::abort();
}

bool offer_all(NominationSink& sink, const std::vector<PodIndex>& pods,
               const std::function<std::string(PodIndex)>& reason, const std::function<Goal(PodIndex)>& goal) {
  for (const PodIndex pod : pods) {
    const Goal wanted = goal ? goal(pod) : Goal{};
    const NominationResult result =
        wanted ? sink.offer_towards(pod, reason(pod), wanted) : sink.offer(pod, reason(pod));
    switch (after(result)) {
      case AfterOffer::kNextPod: break;
      case AfterOffer::kNextNode: return true;
      case AfterOffer::kStop: return false;
    }
  }
  return true;
}

}  // namespace strategies
