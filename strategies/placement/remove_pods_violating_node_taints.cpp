#include "strategies/placement/remove_pods_violating_node_taints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "strategies/eviction_order.hpp"
#include "strategies/listing.hpp"

namespace strategies {
namespace {

/// By key, or by key and value. The effect is not part of the match.
bool names_taint(const std::vector<std::string>& entries, const api::Taint& taint) {
  return std::ranges::any_of(entries, [&](const std::string& entry) {
    return entry == taint.key || (!taint.value.empty() && entry == taint.key + "=" + taint.value);
  });
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

/// Upstream never looks at NoExecute; and a cordon, which is a taint, makes it drain the node.
bool RemovePodsViolatingNodeTaints::is_considered(const api::Taint& taint, bool as_upstream) const {
  using enum api::TaintEffect;
  const bool by_effect = taint.effect == kNoSchedule || (taint.effect == kNoExecute && !as_upstream) ||
                         (taint.effect == kPreferNoSchedule && args_.include_prefer_no_schedule);
  if (!by_effect || names_taint(args_.excluded, taint)) return false;
  if (args_.included) return names_taint(*args_.included, taint);
  return as_upstream || taint.key != api::well_known::kUnschedulableTaint;
}

/// The first considered taint of the node that the pod does not tolerate, or nullptr.
const api::Taint* RemovePodsViolatingNodeTaints::violation(const api::Pod& pod, const api::Node& node,
                                                           bool as_upstream) const {
  const auto at = std::ranges::find_if(node.taints, [&](const api::Taint& taint) {
    const auto tolerates = [&](const api::Toleration& each) { return each.tolerates(taint); };
    return is_considered(taint, as_upstream) && std::ranges::none_of(pod.tolerations, tolerates);
  });
  return at == node.taints.end() ? nullptr : &*at;
}

base::Status RemovePodsViolatingNodeTaints::nominate(const Context& context, NominationSink& sink) const {
  const auto& cluster = context.cluster.base();
  const bool as_upstream = context.is_upstream();
  auto in_scope = pods_in(args_.scope, context);
  for (const NodeIndex node : context.nodes) {
    const api::Node& here = cluster.node(node);
    const auto considered = [&](const api::Taint& taint) { return is_considered(taint, as_upstream); };
    if (std::ranges::none_of(here.taints, considered)) continue;
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      const api::Pod& object = cluster.pod(pod);
      return violation(object, here, as_upstream) == nullptr || !in_scope(pod) || !may_leave(context, sink, pod);
    });
    if (!as_upstream) sort_for_eviction(pods, cluster);
    const auto reason = [&](PodIndex pod) {
      return fmt::format("it does not tolerate the taint {} of its node",
                         violation(cluster.pod(pod), here, as_upstream)->key);
    };
    // A taint with PreferNoSchedule does not keep the scheduler from putting the pod back.
    const auto goal = [&](PodIndex pod) -> Goal {
      if (as_upstream) return {};
      return [&, pod](NodeIndex to) { return violation(cluster.pod(pod), cluster.node(to), false) == nullptr; };
    };
    if (!offer_all(sink, pods, reason, goal)) break;
  }
  return base::Done{};
}

}  // namespace strategies
