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

/// Applies the arguments. A cordon, which is a taint, counts only if includedTaints names it; upstream drains the node.
/// A policy's own soft taint repels new pods, not existing ones. Upstream ignores NoExecute.
bool is_considered(const RemovePodsViolatingNodeTaints& args, const api::Taint& taint, bool is_upstream) {
  using enum api::TaintEffect;
  const bool by_effect = taint.effect == kNoSchedule || (taint.effect == kNoExecute && !is_upstream) ||
                         (taint.effect == kPreferNoSchedule && args.include_prefer_no_schedule);
  if (!by_effect || (!is_upstream && api::is_soft_taint(taint))) return false;
  if (names_taint(args.excluded, taint) || (args.included && !names_taint(*args.included, taint))) return false;
  return is_upstream || args.included || taint.key != api::well_known::kUnschedulableTaint;
}

/// Returns the node's first considered taint that the pod does not tolerate, or nullptr.
const api::Taint* violation(const RemovePodsViolatingNodeTaints& args, const api::Pod& pod, const api::Node& node,
                            bool is_upstream) {
  const auto at = std::ranges::find_if(node.taints, [&](const api::Taint& taint) {
    const auto tolerates = [&](const api::Toleration& each) { return each.tolerates(taint); };
    return is_considered(args, taint, is_upstream) && std::ranges::none_of(pod.tolerations, tolerates);
  });
  return at == node.taints.end() ? nullptr : &*at;
}

}  // namespace

RemovePodsViolatingNodeTaints RemovePodsViolatingNodeTaints::read(api::StrictObject& args) {
  RemovePodsViolatingNodeTaints parsed;
  parsed.scope = read_scope(args);
  args.read("includePreferNoSchedule", parsed.include_prefer_no_schedule);
  args.read("excludedTaints", parsed.excluded);
  args.read("includedTaints", parsed.included);
  if (!parsed.excluded.empty() && parsed.included && !parsed.included->empty())
    args.complain("includedTaints", "only one of excludedTaints and includedTaints can be set");
  return parsed;
}

/// Nominates the lowest priority first, and only for a node without such a taint: a PreferNoSchedule taint does not
/// prevent the scheduler from placing the pod back. Upstream nominates in the order of the listing, for any
/// destination.
base::Status RemovePodsViolatingNodeTaints::nominate(const StrategyContext& context, NominationSink& sink) const {
  const ClusterSnapshot& cluster = context.cluster.base();
  const bool is_upstream = context.is_upstream();
  const auto violated_on = [&](PodIndex pod, NodeIndex node) {
    return violation(*this, cluster.pod(pod), cluster.node(node), is_upstream);
  };
  const auto goal = [&](PodIndex pod) -> Goal {
    return [&, pod](NodeIndex to) { return violated_on(pod, to) == nullptr; };
  };
  auto in_scope = pods_in(scope, context);
  for (const NodeIndex node : context.nodes) {
    const auto repels = [&](const api::Taint& taint) { return is_considered(*this, taint, is_upstream); };
    if (std::ranges::none_of(cluster.node(node).taints, repels)) continue;
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      return violated_on(pod, node) == nullptr || !in_scope(pod) || !may_leave(context, sink, pod);
    });
    if (!is_upstream) sort_for_eviction(pods, cluster);
    const auto reason = [&](PodIndex pod) {
      return fmt::format("it does not tolerate the taint {} of its node", violated_on(pod, node)->key);
    };
    if (!offer_all(sink, pods, reason, is_upstream ? std::function<Goal(PodIndex)>() : goal)) break;
  }
  return base::Done{};
}

}  // namespace strategies
