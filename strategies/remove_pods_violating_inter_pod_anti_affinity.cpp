#include "strategies/remove_pods_violating_inter_pod_anti_affinity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/anti_affinity_conflicts.hpp"
#include "strategies/eviction_order.hpp"
#include "strategies/listing.hpp"

namespace strategies {
namespace {

using scheduling::ClusterSnapshot;

/// The pods that count on either side of a conflict. Shrinks as pods are nominated.
class Company {
 public:
  Company(const Context& context, const PodScope& scope)
      : cluster_(context.cluster.base()), present_(cluster_.pod_count(), false) {
    for (const NodeIndex node : context.nodes) {
      for (const PodIndex pod : pods_on(context, node, PodStates::kActive)) {
        present_[pod] = scope.includes(cluster_.pod(pod));
      }
    }
  }

  bool contains(PodIndex pod) const { return present_[pod]; }
  void remove(PodIndex pod) { present_[pod] = false; }

  /// The first pod that one of `pod`'s own terms excludes, or kNoPod. As upstream, a selector that does not parse ends
  /// the search.
  PodIndex conflict_of(PodIndex pod) const {
    const api::Pod& object = cluster_.pod(pod);
    if (!object.affinity) return scheduling::kNoPod;
    for (const api::PodAffinityTerm& term : object.affinity->required_pod_anti_affinity) {
      if (!term.label_selector) continue;
      if (!term.label_selector->is_well_formed()) return scheduling::kNoPod;
      if (term.namespaces.empty()) {
        const PodIndex other = conflict_in(cluster_.namespace_of(pod), pod, term);
        if (other != scheduling::kNoPod) return other;
      }
      for (const std::string& name : term.namespaces) {
        const auto ns = cluster_.find_namespace(name);
        const PodIndex other = ns ? conflict_in(*ns, pod, term) : scheduling::kNoPod;
        if (other != scheduling::kNoPod) return other;
      }
    }
    return scheduling::kNoPod;
  }

 private:
  PodIndex conflict_in(scheduling::NamespaceIndex ns, PodIndex pod, const api::PodAffinityTerm& term) const {
    for (const ClusterSnapshot::LabelGroup& group : cluster_.label_groups(ns)) {
      if (!term.label_selector->matches(*group.labels)) continue;
      for (const PodIndex other : group.pods) {
        const bool same_name = cluster_.pod(other).meta.name == cluster_.pod(pod).meta.name;
        if (present_[other] && !same_name && share_topology(pod, other, term.topology_key)) return other;
      }
    }
    return scheduling::kNoPod;
  }

  /// The same node counts even without the label.
  bool share_topology(PodIndex a, PodIndex b, const std::string& key) const {
    const NodeIndex first = cluster_.node_of(a);
    const NodeIndex second = cluster_.node_of(b);
    if (first == second) return true;
    const std::string* value = cluster_.node(first).meta.labels.find(key);
    const std::string* other = cluster_.node(second).meta.labels.find(key);
    return value != nullptr && other != nullptr && *value == *other;
  }

  const ClusterSnapshot& cluster_;
  std::vector<bool> present_;
};

}  // namespace

base::Status RemovePodsViolatingInterPodAntiAffinity::nominate(const Context& context, NominationSink& sink) const {
  if (!context.is_upstream()) {
    resolve_anti_affinity(context, sink, args_.scope);
    return base::Done{};
  }
  const ClusterSnapshot& cluster = context.cluster.base();
  Company company(context, args_.scope);
  for (const NodeIndex node : context.nodes) {
    std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) { return !company.contains(pod) || !cluster.pod(pod).affinity; });
    sort_for_eviction(pods, cluster);
    for (const PodIndex pod : pods) {
      const PodIndex other = company.conflict_of(pod);
      if (other == scheduling::kNoPod || !may_leave(context, sink, pod)) continue;
      const api::ObjectMeta& meta = cluster.pod(other).meta;
      const Verdict verdict = sink.offer(pod, fmt::format("its anti-affinity excludes {}/{}", meta.ns, meta.name));
      if (verdict == Verdict::kAccepted) company.remove(pod);
      const Next next = after(verdict);
      if (next == Next::kStop) return base::Done{};
      if (next == Next::kNode) break;
    }
  }
  return base::Done{};
}

}  // namespace strategies
