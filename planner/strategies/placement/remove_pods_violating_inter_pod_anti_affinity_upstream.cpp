#include "planner/strategies/placement/remove_pods_violating_inter_pod_anti_affinity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

/// Pods that count on either side of a conflict. Shrinks as pods are nominated.
class PresentPods {
 public:
  PresentPods(const StrategyContext& context, const PodScope& scope)
      : context_(context), cluster_(context.cluster.base()), present_(cluster_.pod_table_size(), false) {
    auto in_scope = pods_in(scope, context);
    for (const NodeIndex node : context.nodes) {
      for (const PodIndex pod : pods_on(context, node, PodStates::kActive)) present_[pod] = in_scope(pod);
    }
  }

  bool contains(PodIndex pod) const { return present_[pod]; }
  void remove(PodIndex pod) { present_[pod] = false; }

  /// Returns the first pod that one of `pod`'s own terms excludes, or kNoPod. An invalid selector ends the search.
  PodIndex conflict_of(PodIndex pod) const {
    const api::Pod& object = cluster_.pod(pod);
    if (!object.affinity) return kNoPod;
    for (const api::PodAffinityTerm& term : object.affinity->required_pod_anti_affinity) {
      if (!term.label_selector) continue;
      if (!term.label_selector->is_well_formed()) return kNoPod;
      if (term.namespaces.empty()) {
        const PodIndex other = conflict_in(cluster_.namespace_of(pod), pod, term);
        if (other != kNoPod) return other;
      }
      for (const std::string& name : term.namespaces) {
        const auto ns = cluster_.find_namespace(name);
        const PodIndex other = ns ? conflict_in(*ns, pod, term) : kNoPod;
        if (other != kNoPod) return other;
      }
    }
    return kNoPod;
  }

 private:
  PodIndex conflict_in(NamespaceIndex ns, PodIndex pod, const api::PodAffinityTerm& term) const {
    const Topology& topology = context_.cluster.topology(term.topology_key);
    const std::string& name = cluster_.pod(pod).meta.name;
    PodIndex found = kNoPod;
    const auto conflicts = [&](PodIndex other) {
      return present_[other] && share_domain(topology, pod, other) && cluster_.pod(other).meta.name != name;
    };
    context_.cluster.selector_cache().labels_in(ns).for_each_group(
        *term.label_selector, [&](const ClusterSnapshot::LabelGroup& group) {
          if (found != kNoPod) return;
          const auto at = std::ranges::find_if(group.pods, conflicts);
          if (at != group.pods.end()) found = *at;
        });
    return found;
  }

  /// Two pods on the same node share a domain even without the label.
  bool share_domain(const Topology& topology, PodIndex a, PodIndex b) const {
    const NodeIndex first = cluster_.node_of(a);
    const NodeIndex second = cluster_.node_of(b);
    const std::uint32_t domain = topology.domain_of[first];
    return first == second || (domain != Topology::kNone && domain == topology.domain_of[second]);
  }

  const StrategyContext& context_;
  const ClusterSnapshot& cluster_;
  std::vector<bool> present_;
};

bool has_anti_affinity(const api::Pod& pod) {
  return pod.affinity && !pod.affinity->required_pod_anti_affinity.empty();
}

}  // namespace

void resolve_anti_affinity_upstream(const StrategyContext& context, NominationSink& sink, const PodScope& scope) {
  const ClusterSnapshot& cluster = context.cluster.base();
  PresentPods present(context, scope);
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    const auto may_conflict = [&](PodIndex pod) {
      return present.contains(pod) && has_anti_affinity(cluster.pod(pod));
    };
    std::erase_if(pods, std::not_fn(may_conflict));
    sort_for_eviction(pods, cluster);
    for (const PodIndex pod : pods) {
      const PodIndex other = sink.is_out_of_time(pod) ? pod : present.conflict_of(pod);  // may_leave() reports it
      if (other == kNoPod || !may_leave(context, sink, pod)) continue;
      const api::ObjectMeta& meta = cluster.pod(other).meta;
      const NominationResult result =
          sink.offer(pod, fmt::format("its anti-affinity excludes {}/{}", meta.ns, meta.name));
      if (result == NominationResult::kAccepted) present.remove(pod);
      if (result == NominationResult::kTotalLimit) return;
      if (result == NominationResult::kNodeLimit) break;
    }
  }
}

}  // namespace strategies
