#include "planner/strategies/listing.hpp"

#include <algorithm>

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

const std::vector<api::NodeSelectorTerm>* required_terms(const api::Pod& pod) {
  return pod.affinity && pod.affinity->required_node_terms ? &*pod.affinity->required_node_terms : nullptr;
}

bool have_same_required_terms(const api::Pod& a, const api::Pod& b) {
  if (a.affinity == b.affinity) return true;
  const auto* first = required_terms(a);
  const auto* second = required_terms(b);
  return first == nullptr || second == nullptr ? first == second : *first == *second;
}

std::vector<bool> nodes_in_scope(const StrategyContext& context) {
  std::vector<bool> in_scope(context.cluster.base().node_count(), false);
  for (const NodeIndex node : context.nodes) in_scope[node] = true;
  return in_scope;
}

std::optional<Refusal> protection_refusal(const StrategyContext& context, NominationSink& sink, PodIndex pod) {
  return sink.is_out_of_time(pod) ? kCycleTimeout : context.evictability.refusal(pod);
}

std::optional<Refusal> last_protection_of(const StrategyContext& context, NominationSink& sink, PodIndex pod) {
  return sink.is_out_of_time(pod) ? kCycleTimeout : context.evictability.refusal_before_eviction(pod, context.cluster);
}

std::optional<Refusal> refusal_of_namespace(const std::vector<std::string>& excluded, const api::Pod& pod) {
  if (std::ranges::find(excluded, pod.meta.ns) == excluded.end()) return std::nullopt;
  return Refusal{"NamespaceExcluded", "evictableNamespaces excludes the namespace {subject}", pod.meta.ns};
}

bool is_refused(NominationSink& sink, PodIndex pod, const std::optional<Refusal>& refusal) {
  if (refusal) sink.refused(pod, *refusal);
  return refusal.has_value();
}

bool has_time_for(NominationSink& sink, PodIndex pod) {
  return !is_refused(sink, pod, sink.is_out_of_time(pod) ? std::optional(kCycleTimeout) : std::nullopt);
}

bool may_leave(const StrategyContext& context, NominationSink& sink, PodIndex pod) {
  auto refusal = protection_refusal(context, sink, pod);
  if (!refusal) refusal = context.evictability.refusal_before_eviction(pod, context.cluster);
  return !is_refused(sink, pod, refusal);
}

std::optional<Refusal> why_out_of_scope(const StrategyContext& context, NodeIndex node) {
  if (std::ranges::binary_search(context.nodes, node)) return std::nullopt;
  const api::Node& object = context.cluster.base().node(node);
  if (!scheduling::accepts_pods(object)) return Refusal{"NodeNotReady", "the node is not ready"};
  if (!context.is_upstream() && scheduling::removal_of(object) != scheduling::NodeRemoval::kNone)
    return Refusal{"NodeTakesNoPods", "the node is about to be removed"};
  return Refusal{"NotSelected", "spec.nodeSelector does not select the node"};
}

std::string why_on_none_of(const StrategyContext& context, const WhatIf& cluster, PodIndex pod, const Goal& is_better) {
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
  if (!context.cluster.is_moved(pod) || context.cluster.node_of(pod) == kNoNode) return std::nullopt;
  return context.cluster.node_of(pod);
}

NodeIndex StrategyWhatIf::place(PodIndex pod, NodeIndex expected) {
  const auto placement = placement_of(context_, pod);
  if (!placement && !copy_) copy_.emplace(context_.cluster);
  const NodeIndex to = placement.value_or(expected);
  if (copy_) copy_->move(pod, to);
  return to;
}

bool offer_all(NominationSink& sink, const std::vector<PodIndex>& pods,
               const std::function<std::string(PodIndex)>& reason, const std::function<Goal(PodIndex)>& goal) {
  for (const PodIndex pod : pods) {
    const Goal wanted = goal ? goal(pod) : Goal{};
    const NominationResult result =
        wanted ? sink.offer_towards(pod, reason(pod), wanted) : sink.offer(pod, reason(pod));
    if (result == NominationResult::kTotalLimit) return false;
    if (result == NominationResult::kNodeLimit) return true;
  }
  return true;
}

}  // namespace strategies
