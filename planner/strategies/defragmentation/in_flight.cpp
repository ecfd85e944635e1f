/// WavePlanner: constraints between pods that move in the same wave.

#include <algorithm>
#include <iterator>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/defragmentation/wave_planner.hpp"

namespace strategies {
namespace {

bool has_hard_spread(const api::Pod& pod) {
  return std::ranges::any_of(pod.topology_spread, [](const auto& each) { return !each.schedule_anyway; });
}

bool has_required_affinity(const api::Pod& pod) { return pod.affinity && !pod.affinity->required_pod_affinity.empty(); }

bool is_counted_by(const api::TopologySpreadConstraint& constraint, PodIndex owner, PodIndex other,
                   const ClusterSnapshot& base) {
  return base.namespace_of(owner) == base.namespace_of(other) && constraint.label_selector &&
         constraint.label_selector->matches(base.pod(other).meta.labels);
}

/// Returns true if a hard spread constraint of `owner` counts `other`.
bool spread_counts(PodIndex owner, PodIndex other, const ClusterSnapshot& base) {
  return std::ranges::any_of(base.pod(owner).topology_spread, [&](const api::TopologySpreadConstraint& constraint) {
    return !constraint.schedule_anyway && is_counted_by(constraint, owner, other, base);
  });
}

bool affinity_needs(PodIndex owner, PodIndex other, const ClusterSnapshot& base) {
  return has_required_affinity(base.pod(owner)) &&
         std::ranges::any_of(base.pod(owner).affinity->required_pod_affinity, [&](const api::PodAffinityTerm& term) {
           return scheduling::covers(term, owner, other, base);
         });
}

}  // namespace

bool WavePlanner::depends_on_others(PodIndex pod) const {
  const api::Pod& object = problem_.base().pod(pod);
  return has_hard_spread(object) || has_required_affinity(object);
}

/// Returns true if the move would fail because pods that a spread constraint of the pod counts already leave the same
/// domain in this wave.
bool WavePlanner::is_blocked_by_own_workload(PodIndex pod, const Wave& wave) const {
  const auto& base = problem_.base();
  const NodeIndex from = cluster().node_of(pod);
  return std::ranges::any_of(base.pod(pod).topology_spread, [&](const api::TopologySpreadConstraint& constraint) {
    if (constraint.schedule_anyway) return false;
    const auto& domain_of = cluster().topology(constraint.topology_key).domain_of;
    return std::ranges::count_if(wave.leaving, [&](PodIndex other) {
             return domain_of[wave.before.node_of(other)] == domain_of[from] &&
                    is_counted_by(constraint, pod, other, base);
           }) >= constraint.max_skew;
  });
}

/// Returns true if topology spread allows every arrival of the wave, including the pod, in every intermediate state:
/// other moving pods may be on their old node, their new node, both, or neither.
bool WavePlanner::keeps_skew(PodIndex pod, const Wave& wave) const {
  const auto is_kept = [&](PodIndex owner) { return is_spread_in_flight(owner, pod, wave); };
  return is_kept(pod) && std::ranges::all_of(wave.depending, [&](PodIndex arrival) {
           return !spread_counts(arrival, pod, problem_.base()) || is_kept(arrival);
         });
}

/// Checks the spread constraints of `owner`. `latest` is moving as well.
bool WavePlanner::is_spread_in_flight(PodIndex owner, PodIndex latest, const Wave& wave) const {
  if (!has_hard_spread(problem_.base().pod(owner))) return true;
  const FitQuery query(cluster(), owner, FitLevel::kScheduler);
  return std::ranges::all_of(query.spread_counts(), [&](const FitQuery::SpreadCount& count) {
    const auto& domain_of = count.topology->domain_of;
    const std::uint32_t here = domain_of[cluster().node_of(owner)];
    std::vector<std::int64_t> least = count.pods;
    std::int64_t most = count.pods[here];
    const auto add = [&](PodIndex other) {
      if (other == owner || !is_counted_by(*count.constraint, owner, other, problem_.base())) return;
      const std::uint32_t to = domain_of[cluster().node_of(other)];
      if (to != Topology::kNone) --least[to];
      if (domain_of[wave.before.node_of(other)] == here) ++most;
    };
    std::ranges::for_each(wave.leaving, add);
    add(latest);
    std::int64_t fewest = count.fewest;
    for (std::size_t domain = 0; domain < least.size(); ++domain) {
      // Otherwise the domain is not counted.
      if (count.pods[domain] >= count.fewest) fewest = std::min(fewest, least[domain]);
    }
    return most + count.self - fewest <= count.constraint->max_skew;
  });
}

/// Returns true if an arrival of this wave needs the pod to be on its current node.
bool WavePlanner::is_counted_on(PodIndex pod, const Wave& wave) const {
  return std::ranges::any_of(wave.depending,
                             [&](PodIndex arrival) { return affinity_needs(arrival, pod, problem_.base()); });
}

/// Returns true if the pod's required affinity is satisfied at its new node even while pods that left before it are on
/// neither of their nodes.
bool WavePlanner::follows_in_flight(PodIndex pod, const Wave& wave) const {
  std::vector<PodIndex> needed;
  std::ranges::copy_if(wave.leaving, std::back_inserter(needed),
                       [&](PodIndex other) { return affinity_needs(pod, other, problem_.base()); });
  if (needed.empty()) return true;
  WhatIf flight = cluster();
  for (const PodIndex other : needed) flight.move(other, kNoNode);
  return !FitQuery(flight, pod, FitLevel::kScheduler).refusal_ignoring_capacity(cluster().node_of(pod));
}

/// Returns true if the node can attach the pod's volumes. Volumes of pods that leave it stay attached until they are
/// gone, while those of arrivals are attached before.
bool WavePlanner::attaches_in_flight(PodIndex pod, NodeIndex node, const Wave& wave) const {
  if (wave.is_left[node] == 0 || FitQuery(cluster(), pod, FitLevel::kScheduler).attachments().empty()) return true;
  WhatIf flight = cluster();
  for (const PodIndex other : wave.leaving) {
    if (wave.before.node_of(other) == node) flight.move(other, node);
  }
  return !scheduling::refuse_attachments(FitQuery(flight, pod, FitLevel::kScheduler), node);
}

/// Returns true if pods on nodes other than the target can prevent the pod from running there.
bool WavePlanner::looks_beyond_node(PodIndex pod) const {
  const auto& base = problem_.base();
  const api::Pod& object = base.pod(pod);
  const auto is_wide = [&](const api::PodAffinityTerm& term) {
    return cluster().topology(term.topology_key).domain_names.size() != base.node_count();
  };
  if (depends_on_others(pod)) return true;
  if (object.affinity && std::ranges::any_of(object.affinity->required_pod_anti_affinity, is_wide)) return true;
  return std::ranges::any_of(cluster().selector_cache().anti_affinity_terms_of(pod),
                             [&](const auto& each) { return is_wide(*each.term); });
}

/// Returns true if the node has capacity, without headroom, for all arrivals including the pod, plus all pods that have
/// yet to leave it.
bool WavePlanner::fits_in_flight(PodIndex pod, NodeIndex node, const Wave& wave) const {
  // Otherwise the what-if placement has already checked it.
  const bool may_mind = wave.is_left[node] != 0 || looks_beyond_node(pod);
  if (may_mind && FitQuery(wave.before, pod, FitLevel::kScheduler).refusal_ignoring_capacity(node)) return false;
  const auto has_free_capacity = [&](ResourceIndex resource) {
    std::int64_t free = saturating_subtract(cluster().free(node, resource), problem_.headroom(node, resource));
    if (wave.is_left[node] == 0) return free >= 0;
    for (const PodIndex other : wave.leaving) {
      if (wave.before.node_of(other) != node) continue;
      free = saturating_subtract(free, taken_of(wave.before.requests_on(other, node), resource));
    }
    return free >= 0;
  };
  return has_free_capacity(kPodsIndex) && std::ranges::all_of(problem_.base().requests(pod), [&](const auto& request) {
           return request.second == 0 || has_free_capacity(request.first);
         });
}

}  // namespace strategies
