#include "strategies/remove_pods_violating_node_affinity.hpp"

#include <algorithm>
#include <array>

#include "scheduling/predicates.hpp"
#include "strategies/listing.hpp"

namespace strategies {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::array<std::string_view, 2> kAffinityTypes = {kRequired, kPreferred};

/// Node fit on any node looked at, its own included; asked here whatever evictability says.
bool fits_some_node(const Context& context, PodIndex pod) {
  const scheduling::FitQuery query(context.cluster, pod, scheduling::FitLevel::kBasic);
  return std::ranges::any_of(context.nodes, [&](NodeIndex node) { return query.fits(node); });
}

/// Pods with only a nodeSelector are not looked at, though it is part of what must match.
bool violates_required(const Context& context, PodIndex pod, NodeIndex node) {
  const api::Pod& object = context.cluster.base().pod(pod);
  if (!object.affinity || !object.affinity->required_node_terms) return false;
  return !scheduling::matches_node_terms(object, context.cluster.base().node(node)) && fits_some_node(context, pod);
}

std::int64_t preference_for(const api::Pod& pod, const api::Node& node) {
  std::int64_t weight = 0;
  for (const api::PreferredNodeTerm& preferred : pod.affinity->preferred_node_terms) {
    if (scheduling::matches(preferred.term, node)) weight += preferred.weight;
  }
  return weight;
}

bool violates_preferred(const Context& context, PodIndex pod, NodeIndex node) {
  const auto& cluster = context.cluster.base();
  const api::Pod& object = cluster.pod(pod);
  if (!object.affinity || object.affinity->preferred_node_terms.empty()) return false;
  const std::int64_t here = preference_for(object, cluster.node(node));
  const auto is_better = [&](NodeIndex other) { return preference_for(object, cluster.node(other)) > here; };
  return std::ranges::any_of(context.nodes, is_better) && fits_some_node(context, pod);
}

}  // namespace

RemovePodsViolatingNodeAffinity::Args RemovePodsViolatingNodeAffinity::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  parsed.types = read_choices(args, "nodeAffinityType", kAffinityTypes);
  if (parsed.types.empty()) args.complain("nodeAffinityType", "is required and must name at least one type");
  return parsed;
}

void RemovePodsViolatingNodeAffinity::nominate_by(Violation violates, std::string_view reason, const Context& context,
                                                  NominationSink& sink) const {
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      return !args_.scope.includes(context.cluster.base().pod(pod)) || !violates(context, pod, node) ||
             !may_leave(context, sink, pod);
    });
    if (!offer_all(sink, pods, [&](PodIndex) { return std::string(reason); })) return;
  }
}

base::Status RemovePodsViolatingNodeAffinity::nominate(const Context& context, NominationSink& sink) const {
  for (const std::string& type : args_.types) {
    // The total limit ends one type; the next one still starts, as upstream's does.
    if (type == kRequired) {
      nominate_by(violates_required, "its node does not match its required node affinity", context, sink);
    } else {
      nominate_by(violates_preferred, "another node matches its preferred node affinity better", context, sink);
    }
  }
  return base::Done{};
}

}  // namespace strategies
