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
  const scheduling::FitQuery query(context.cluster, pod, scheduling::FitLevel::kBasic);
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

Goal matching_nodes(const StrategyContext& context, PodIndex pod) {
  const auto& cluster = context.cluster.base();
  return [&cluster, pod](NodeIndex to) { return scheduling::matches_node_terms(cluster.pod(pod), cluster.node(to)); };
}

bool has_required_terms(const api::Pod& pod) { return pod.affinity && pod.affinity->required_node_terms; }

bool violates_required(const StrategyContext& context, PodIndex pod, NodeIndex node) {
  const api::Pod& object = context.cluster.base().pod(pod);
  if (!has_required_terms(object) && object.node_selector.empty()) return false;
  return !scheduling::matches_node_terms(object, context.cluster.base().node(node));
}

/// Upstream ignores pods that have only a nodeSelector, although matching includes it.
bool violates_required_upstream(const StrategyContext& context, PodIndex pod, NodeIndex node) {
  return has_required_terms(context.cluster.base().pod(pod)) && violates_required(context, pod, node);
}

std::int64_t preference_for(const api::Pod& pod, const api::Node& node) {
  std::int64_t weight = 0;
  for (const api::PreferredNodeTerm& preferred : pod.affinity->preferred_node_terms) {
    if (scheduling::matches(preferred.term, node)) weight += preferred.weight;
  }
  return weight;
}

Goal preferred_nodes(const StrategyContext& context, PodIndex pod, std::int64_t above) {
  const auto& cluster = context.cluster.base();
  return [&cluster, pod, above](NodeIndex to) { return preference_for(cluster.pod(pod), cluster.node(to)) > above; };
}

bool has_preferred_terms(const api::Pod& pod) { return pod.affinity && !pod.affinity->preferred_node_terms.empty(); }

/// REQUIRES: the pod has preferred terms.
Goal preferred_nodes_over(const StrategyContext& context, PodIndex pod, NodeIndex here) {
  const auto& cluster = context.cluster.base();
  return preferred_nodes(context, pod, preference_for(cluster.pod(pod), cluster.node(here)));
}

bool violates_preferred(const StrategyContext& context, PodIndex pod, NodeIndex node) {
  if (!has_preferred_terms(context.cluster.base().pod(pod))) return false;
  return std::ranges::any_of(context.nodes, preferred_nodes_over(context, pod, node));
}

}  // namespace

RemovePodsViolatingNodeAffinity::Args RemovePodsViolatingNodeAffinity::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  parsed.types = read_choices(args, "nodeAffinityType", kAffinityTypes);
  if (parsed.types.empty()) args.complain("nodeAffinityType", "is required and must name at least one type");
  return parsed;
}

/// Reports the refusal if the pod may not move.
bool RemovePodsViolatingNodeAffinity::may_move(const Type& type, PodIndex pod, NodeIndex node,
                                               const StrategyContext& context, NominationSink& sink) const {
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
  if (refusal) sink.refused(pod, *refusal);
  return !refusal;
}

/// Returns the violating pods that are in scope and may leave, and reports those that may not.
std::vector<PodIndex> RemovePodsViolatingNodeAffinity::violating_pods_on(NodeIndex node, const Type& type,
                                                                         scheduling::CachedSelector& in_scope,
                                                                         const StrategyContext& context,
                                                                         NominationSink& sink) const {
  const auto violates = context.is_upstream() ? type.violates_upstream : type.violates;
  std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
  std::erase_if(pods, [&](PodIndex pod) {
    if (!in_scope(pod)) return true;
    if (context.cluster.base().pod(pod).affinity && sink.is_out_of_time(pod)) {
      sink.refused(pod, kCycleTimeout);
      return true;
    }
    return !violates(context, pod, node) || !may_move(type, pod, node, context, sink);
  });
  return pods;
}

void RemovePodsViolatingNodeAffinity::nominate_by(const Type& type, const StrategyContext& context,
                                                  NominationSink& sink) const {
  auto in_scope = pods_in(args_.scope, context);
  const auto reason = [&](PodIndex) { return std::string(type.reason); };
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = violating_pods_on(node, type, in_scope, context, sink);
    sort_for_eviction(pods, context.cluster.base());
    if (!offer_all(sink, pods, reason, [&](PodIndex pod) { return type.goal(context, pod, node); })) return;
  }
}

void RemovePodsViolatingNodeAffinity::nominate_by_upstream(const Type& type, const StrategyContext& context,
                                                           NominationSink& sink) const {
  auto in_scope = pods_in(args_.scope, context);
  const auto reason = [&](PodIndex) { return std::string(type.reason); };
  for (const NodeIndex node : context.nodes) {
    const std::vector<PodIndex> pods = violating_pods_on(node, type, in_scope, context, sink);
    if (!offer_all(sink, pods, reason)) return;
  }
}

base::Status RemovePodsViolatingNodeAffinity::nominate(const StrategyContext& context, NominationSink& sink) const {
  static constexpr Type kByRequirement{
      "its node does not match its required node affinity",
      violates_required,
      [](const StrategyContext& in, PodIndex pod, NodeIndex) { return matching_nodes(in, pod); },
      violates_required_upstream,
      {"NoMatchingNodeFits",
       "it violates its nodeSelector or required node affinity, but does not fit on any matching node"}};
  static constexpr Type kByPreference{
      "another node matches its preferred node affinity better",
      violates_preferred,
      preferred_nodes_over,
      violates_preferred,
      {"NoMatchingNodeFits",
       "other nodes match its preferred node affinity better, but it does not fit on any of them"}};
  for (const std::string& name : args_.types) {
    const Type& type = name == kRequired ? kByRequirement : kByPreference;
    // The total limit ends one type. The next one still starts, as upstream's does.
    if (context.is_upstream()) {
      nominate_by_upstream(type, context, sink);
    } else {
      nominate_by(type, context, sink);
    }
  }
  return base::Done{};
}

}  // namespace strategies
