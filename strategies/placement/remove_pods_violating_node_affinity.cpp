#include "strategies/placement/remove_pods_violating_node_affinity.hpp"

#include <algorithm>
#include <array>

#include "scheduling/predicates.hpp"
#include "strategies/eviction_order.hpp"
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

/// The pod fits a node that is better than its own.
bool fits_a_better_node(const Context& context, PodIndex pod, const Goal& is_better) {
  if (std::ranges::none_of(context.nodes, is_better)) return false;
  const auto query = context.cluster.fit_query(pod, context.evictability.fit_level());
  return std::ranges::any_of(context.nodes, [&](NodeIndex node) { return is_better(node) && query->fits(node); });
}

Goal matching_nodes(const Context& context, PodIndex pod) {
  const auto& cluster = context.cluster.base();
  return [&cluster, pod](NodeIndex to) { return scheduling::matches_node_terms(cluster.pod(pod), cluster.node(to)); };
}

/// Upstream does not look at pods with only a nodeSelector, though it is part of what must match.
bool violates_required(const Context& context, PodIndex pod, NodeIndex node) {
  const api::Pod& object = context.cluster.base().pod(pod);
  const bool has_terms = object.affinity && object.affinity->required_node_terms;
  if (!has_terms && (context.is_upstream() || object.node_selector.empty())) return false;
  if (scheduling::matches_node_terms(object, context.cluster.base().node(node))) return false;
  return context.is_upstream() ? fits_some_node(context, pod)
                               : fits_a_better_node(context, pod, matching_nodes(context, pod));
}

std::int64_t preference_for(const api::Pod& pod, const api::Node& node) {
  std::int64_t weight = 0;
  for (const api::PreferredNodeTerm& preferred : pod.affinity->preferred_node_terms) {
    if (scheduling::matches(preferred.term, node)) weight += preferred.weight;
  }
  return weight;
}

Goal preferred_nodes(const Context& context, PodIndex pod, std::int64_t above) {
  const auto& cluster = context.cluster.base();
  return [&cluster, pod, above](NodeIndex to) { return preference_for(cluster.pod(pod), cluster.node(to)) > above; };
}

bool violates_preferred(const Context& context, PodIndex pod, NodeIndex node) {
  const auto& cluster = context.cluster.base();
  const api::Pod& object = cluster.pod(pod);
  if (!object.affinity || object.affinity->preferred_node_terms.empty()) return false;
  const Goal is_better = preferred_nodes(context, pod, preference_for(object, cluster.node(node)));
  if (!context.is_upstream()) return fits_a_better_node(context, pod, is_better);
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

void RemovePodsViolatingNodeAffinity::nominate_by(const Kind& kind, const Context& context,
                                                  NominationSink& sink) const {
  auto in_scope = pods_in(args_.scope, context);
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      return !in_scope(pod) || !kind.violates(context, pod, node) || !may_leave(context, sink, pod);
    });
    if (!context.is_upstream()) sort_for_eviction(pods, context.cluster.base());
    const auto reason = [&](PodIndex) { return std::string(kind.reason); };
    const auto goal = [&](PodIndex pod) { return context.is_upstream() ? Goal{} : kind.goal(context, pod, node); };
    if (!offer_all(sink, pods, reason, goal)) return;
  }
}

base::Status RemovePodsViolatingNodeAffinity::nominate(const Context& context, NominationSink& sink) const {
  static constexpr Kind kByRequirement{
      violates_required, [](const Context& in, PodIndex pod, NodeIndex) { return matching_nodes(in, pod); },
      "its node does not match its required node affinity"};
  static constexpr Kind kByPreference{violates_preferred,
                                      [](const Context& in, PodIndex pod, NodeIndex here) {
                                        const auto& cluster = in.cluster.base();
                                        return preferred_nodes(in, pod,
                                                               preference_for(cluster.pod(pod), cluster.node(here)));
                                      },
                                      "another node matches its preferred node affinity better"};
  for (const std::string& type : args_.types) {
    // The total limit ends one type; the next one still starts, as upstream's does.
    nominate_by(type == kRequired ? kByRequirement : kByPreference, context, sink);
  }
  return base::Done{};
}

}  // namespace strategies
