#include "planner/strategies/placement/remove_pods_violating_node_taints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/core/soft_taint.hpp"
#include "api/meta/well_known.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

/// Matches the key, or key and value. The effect is not part of the match.
bool names_taint(const std::vector<std::string>& entries, const api::Taint& taint) {
  return std::ranges::any_of(entries, [&](const std::string& entry) {
    return entry == taint.key || (!taint.value.empty() && entry == taint.key + "=" + taint.value);
  });
}

std::string words_for(const api::Taint& taint) {
  return fmt::format("it does not tolerate the taint {} of its node", taint.key);
}

}  // namespace

RemovePodsViolatingNodeTaints::Args RemovePodsViolatingNodeTaints::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  args.read("includePreferNoSchedule", parsed.include_prefer_no_schedule);
  args.read("excludedTaints", parsed.excluded);
  args.read("includedTaints", parsed.included);
  if (!parsed.excluded.empty() && parsed.included && !parsed.included->empty()) {
    args.complain("includedTaints", "only one of excludedTaints and includedTaints can be set");
  }
  return parsed;
}

/// Applies excludedTaints and includedTaints.
bool RemovePodsViolatingNodeTaints::is_chosen(const api::Taint& taint) const {
  return !names_taint(args_.excluded, taint) && (!args_.included || names_taint(*args_.included, taint));
}

/// A cordon is a taint; it counts only if includedTaints names it. A policy's own soft taint repels new pods, not
/// existing ones.
bool RemovePodsViolatingNodeTaints::is_considered(const api::Taint& taint) const {
  using enum api::TaintEffect;
  if (api::is_soft_taint(taint)) return false;
  const bool by_effect = taint.effect == kNoSchedule || taint.effect == kNoExecute ||
                         (taint.effect == kPreferNoSchedule && args_.include_prefer_no_schedule);
  return by_effect && is_chosen(taint) && (args_.included || taint.key != api::well_known::kUnschedulableTaint);
}

/// Upstream ignores NoExecute. A cordon, which is a taint, makes it drain the node.
bool RemovePodsViolatingNodeTaints::is_considered_upstream(const api::Taint& taint) const {
  using enum api::TaintEffect;
  const bool by_effect =
      taint.effect == kNoSchedule || (taint.effect == kPreferNoSchedule && args_.include_prefer_no_schedule);
  return by_effect && is_chosen(taint);
}

const api::Taint* RemovePodsViolatingNodeTaints::violation(const api::Pod& pod, const api::Node& node,
                                                           IsConsidered considered) const {
  const auto at = std::ranges::find_if(node.taints, [&](const api::Taint& taint) {
    const auto tolerates = [&](const api::Toleration& each) { return each.tolerates(taint); };
    return (this->*considered)(taint) && std::ranges::none_of(pod.tolerations, tolerates);
  });
  return at == node.taints.end() ? nullptr : &*at;
}

/// Returns the violating pods that are in scope and may leave, and reports those that may not.
std::vector<PodIndex> RemovePodsViolatingNodeTaints::violating_pods_on(NodeIndex node, IsConsidered considered,
                                                                       scheduling::CachedSelector& in_scope,
                                                                       const StrategyContext& context,
                                                                       NominationSink& sink) const {
  const auto& cluster = context.cluster.base();
  const api::Node& here = cluster.node(node);
  if (std::ranges::none_of(here.taints, [&](const api::Taint& taint) { return (this->*considered)(taint); })) return {};
  std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
  std::erase_if(pods, [&](PodIndex pod) {
    const bool is_violating = violation(cluster.pod(pod), here, considered) != nullptr;
    return !is_violating || !in_scope(pod) || !may_leave(context, sink, pod);
  });
  return pods;
}

void RemovePodsViolatingNodeTaints::clear_nodes(const StrategyContext& context, NominationSink& sink) const {
  constexpr IsConsidered kConsidered = &RemovePodsViolatingNodeTaints::is_considered;
  const auto& cluster = context.cluster.base();
  auto in_scope = pods_in(args_.scope, context);
  // A PreferNoSchedule taint does not prevent the scheduler from placing the pod back, so the goal excludes such
  // nodes.
  const auto goal = [&](PodIndex pod) -> Goal {
    return [&, pod](NodeIndex to) { return violation(cluster.pod(pod), cluster.node(to), kConsidered) == nullptr; };
  };
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = violating_pods_on(node, kConsidered, in_scope, context, sink);
    sort_for_eviction(pods, cluster);
    const auto reason = [&](PodIndex pod) {
      return words_for(*violation(cluster.pod(pod), cluster.node(node), kConsidered));
    };
    if (!offer_all(sink, pods, reason, goal)) return;
  }
}

void RemovePodsViolatingNodeTaints::clear_nodes_upstream(const StrategyContext& context, NominationSink& sink) const {
  constexpr IsConsidered kConsidered = &RemovePodsViolatingNodeTaints::is_considered_upstream;
  const auto& cluster = context.cluster.base();
  auto in_scope = pods_in(args_.scope, context);
  for (const NodeIndex node : context.nodes) {
    const std::vector<PodIndex> pods = violating_pods_on(node, kConsidered, in_scope, context, sink);
    const auto reason = [&](PodIndex pod) {
      return words_for(*violation(cluster.pod(pod), cluster.node(node), kConsidered));
    };
    if (!offer_all(sink, pods, reason)) return;
  }
}

base::Status RemovePodsViolatingNodeTaints::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (context.is_upstream()) {
    clear_nodes_upstream(context, sink);
  } else {
    clear_nodes(context, sink);
  }
  return base::Done{};
}

}  // namespace strategies
