#include "strategies/remove_pods_violating_node_taints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/listing.hpp"

namespace strategies {
namespace {

/// By key, or by key and value. The effect is not part of the match.
bool names_taint(const std::vector<std::string>& entries, const api::Taint& taint) {
  return std::ranges::any_of(entries, [&](const std::string& entry) {
    return entry == taint.key || (!taint.value.empty() && entry == taint.key + "=" + taint.value);
  });
}

const api::Taint* untolerated_of(const std::vector<const api::Taint*>& taints, const api::Pod& pod) {
  const auto at = std::ranges::find_if(taints, [&](const api::Taint* taint) {
    return std::ranges::none_of(pod.tolerations, [&](const api::Toleration& each) { return each.tolerates(*taint); });
  });
  return at == taints.end() ? nullptr : *at;
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

bool RemovePodsViolatingNodeTaints::is_considered(const api::Taint& taint) const {
  const bool by_effect = taint.effect == api::TaintEffect::kNoSchedule ||
                         (taint.effect == api::TaintEffect::kPreferNoSchedule && args_.include_prefer_no_schedule);
  if (!by_effect || names_taint(args_.excluded, taint)) return false;
  return !args_.included || names_taint(*args_.included, taint);
}

base::Status RemovePodsViolatingNodeTaints::nominate(const Context& context, NominationSink& sink) const {
  const auto& cluster = context.cluster.base();
  for (const NodeIndex node : context.nodes) {
    std::vector<const api::Taint*> taints;
    for (const api::Taint& taint : cluster.node(node).taints) {
      if (is_considered(taint)) taints.push_back(&taint);
    }
    if (taints.empty()) continue;
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      const api::Pod& object = cluster.pod(pod);
      return !untolerated_of(taints, object) || !args_.scope.includes(object) || !may_leave(context, sink, pod);
    });
    const auto reason = [&](PodIndex pod) {
      return fmt::format("it does not tolerate the taint {} of its node",
                         untolerated_of(taints, cluster.pod(pod))->key);
    };
    if (!offer_all(sink, pods, reason)) break;
  }
  return base::Done{};
}

}  // namespace strategies
