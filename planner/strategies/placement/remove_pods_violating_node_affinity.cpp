#include "planner/strategies/placement/remove_pods_violating_node_affinity.hpp"

#include <algorithm>
#include <array>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::array<std::string_view, 2> kAffinityTypes = {kRequired, kPreferred};

/// Basic fit on any node in scope, its own included. Checked here regardless of the evictability settings.
bool fits_some_node(const StrategyContext& context, PodIndex pod) {
  const FitQuery query(context.cluster, pod, FitLevel::kBasic);
  return std::ranges::any_of(context.nodes, [&](NodeIndex node) { return query.fits(node); });
}

/// Returns whether the pod fits a node that is better than its own.
bool fits_a_better_node(const StrategyContext& context, PodIndex pod, const Goal& is_better) {
  if (std::ranges::none_of(context.nodes, is_better)) return false;
  const auto query = context.cluster.fit_query(pod, context.evictability.fit_level());
  return std::ranges::any_of(context.nodes, [&](NodeIndex node) { return is_better(node) && query->fits(node); });
}

/// Returns the details of a refusal, may be empty.
std::string why_no_better_node(const StrategyContext& context, PodIndex pod, const Goal& is_better) {
  if (std::ranges::none_of(context.cluster.base().nodes(), is_better)) return "no node matches";
  return why_on_none_of(context, context.cluster, pod, is_better);
}

Goal matching_nodes(const StrategyContext& context, PodIndex pod, NodeIndex) {
  const auto& cluster = context.cluster.base();
  return [&cluster, pod](NodeIndex to) { return scheduling::matches_node_terms(cluster.pod(pod), cluster.node(to)); };
}

/// Upstream ignores pods that have only a nodeSelector, although matching includes it.
bool violates_required(const StrategyContext& context, PodIndex pod, NodeIndex node) {
  const api::Pod& object = context.cluster.base().pod(pod);
  const bool has_terms = object.affinity && object.affinity->required_node_terms;
  if (!has_terms && (context.is_upstream() || object.node_selector.empty())) return false;
  return !scheduling::matches_node_terms(object, context.cluster.base().node(node));
}

std::int64_t preference_for(const api::Pod& pod, const api::Node& node) {
  std::int64_t weight = 0;
  for (const api::PreferredNodeTerm& preferred : pod.affinity->preferred_node_terms) {
    if (scheduling::matches(preferred.term, node)) weight += preferred.weight;
  }
  return weight;
}

/// REQUIRES: the pod has preferred terms.
Goal preferred_nodes_over(const StrategyContext& context, PodIndex pod, NodeIndex here) {
  const auto& cluster = context.cluster.base();
  return [&cluster, pod, above = preference_for(cluster.pod(pod), cluster.node(here))](NodeIndex to) {
    return preference_for(cluster.pod(pod), cluster.node(to)) > above;
  };
}

bool violates_preferred(const StrategyContext& context, PodIndex pod, NodeIndex node) {
  const auto& affinity = context.cluster.base().pod(pod).affinity;
  if (!affinity || affinity->preferred_node_terms.empty()) return false;
  return std::ranges::any_of(context.nodes, preferred_nodes_over(context, pod, node));
}

/// Rules of one affinity type.
struct AffinityType {
  std::string_view reason;
  /// Returns whether the node violates the pod's affinity, or another node meets it better.
  bool (*violates)(const StrategyContext& context, PodIndex pod, NodeIndex node);
  /// Returns the predicate of nodes that are better than `here`.
  Goal (*goal)(const StrategyContext& context, PodIndex pod, NodeIndex here);
  /// Refusal of a pod that violates the affinity and fits no better node.
  Refusal no_better_node;
};
constexpr AffinityType kByRequirement{
    "its node does not match its required node affinity",
    violates_required,
    matching_nodes,
    {"NoMatchingNodeFits",
     "it violates its nodeSelector or required node affinity, but does not fit on any matching node"}};
constexpr AffinityType kByPreference{
    "another node matches its preferred node affinity better",
    violates_preferred,
    preferred_nodes_over,
    {"NoMatchingNodeFits", "other nodes match its preferred node affinity better, but it does not fit on any of them"}};

/// Reports the refusal if the pod may not move.
bool may_move(const AffinityType& type, PodIndex pod, NodeIndex node, const StrategyContext& context,
              NominationSink& sink) {
  auto refusal = protection_refusal(context, sink, pod);
  if (!refusal) {
    const Goal is_better = type.goal(context, pod, node);
    const bool fits =
        context.is_upstream() ? fits_some_node(context, pod) : fits_a_better_node(context, pod, is_better);
    if (!fits) {
      sink.refused_because(pod, type.no_better_node, [&] { return why_no_better_node(context, pod, is_better); });
      return false;
    }
    refusal = context.evictability.refusal_before_eviction(pod, context.cluster);
  }
  return !is_refused(sink, pod, refusal);
}

/// Nominates the lowest priority first, and only for a better node. Upstream nominates in the order of the listing, for
/// any destination.
void nominate_by(const AffinityType& type, const PodScope& scope, const StrategyContext& context,
                 NominationSink& sink) {
  auto in_scope = pods_in(scope, context);
  const auto reason = [&](PodIndex) { return std::string(type.reason); };
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      if (!in_scope(pod)) return true;
      if (context.cluster.base().pod(pod).affinity && !has_time_for(sink, pod)) return true;
      return !type.violates(context, pod, node) || !may_move(type, pod, node, context, sink);
    });
    std::function<Goal(PodIndex)> goal;
    if (!context.is_upstream()) {
      sort_for_eviction(pods, context.cluster.base());
      goal = [&](PodIndex pod) { return type.goal(context, pod, node); };
    }
    if (!offer_all(sink, pods, reason, goal)) return;
  }
}

}  // namespace

RemovePodsViolatingNodeAffinity RemovePodsViolatingNodeAffinity::read(api::StrictObject& args) {
  RemovePodsViolatingNodeAffinity parsed;
  parsed.scope = read_scope(args);
  parsed.types = read_choices(args, "nodeAffinityType", kAffinityTypes);
  if (parsed.types.empty()) args.complain("nodeAffinityType", "is required and must name at least one type");
  return parsed;
}

/// The total limit ends one type. The next one still starts, as upstream's does.
base::Status RemovePodsViolatingNodeAffinity::nominate(const StrategyContext& context, NominationSink& sink) const {
  for (const std::string& name : types)
    nominate_by(name == kRequired ? kByRequirement : kByPreference, scope, context, sink);
  return base::Done{};
}

}  // namespace strategies
