/// Predicates about other pods: anti-affinity, affinity, topology spread.

#include <algorithm>
#include <limits>

#include "planner/scheduling/predicates.hpp"

namespace scheduling {
namespace {

using api::PodAffinityTerm;

std::uint32_t domain_of(const Topology& topology, NodeIndex node) {
  return node == kNoNode ? Topology::kNone : topology.domain_of[node];
}

/// Returns true if the constraint counts all nodes. Decides from the pod alone, without checking any node.
bool counts_every_node(const api::TopologySpreadConstraint& constraint, const api::Pod& pod) {
  return (!asks_for_nodes(pod) || !constraint.honor_node_affinity) && !constraint.honor_node_taints;
}

}  // namespace

void for_each_covered(const PodAffinityTerm& term, PodIndex owner, const WhatIf& what_if,
                      const std::function<void(PodIndex)>& each) {
  for (const PodIndex pod : what_if.selector_cache().covered_by(term, owner)) {
    if (pod != owner) each(pod);
  }
}

bool is_counted_node(const api::TopologySpreadConstraint& constraint, const api::Pod& pod, const api::Node& node) {
  if (constraint.honor_node_affinity && !matches_node_terms(pod, node)) return false;
  return !constraint.honor_node_taints ||
         first_untolerated(pod.tolerations, node.taints,
                           {api::TaintEffect::kNoSchedule, api::TaintEffect::kNoExecute}) == nullptr;
}

/// Returns nullptr if no node has the label, so that no domain can be closed.
FitQuery::ClosedDomains* FitQuery::closed_for(std::string_view key, bool own) {
  const Topology& topology = cluster_->topology(key);
  if (topology.domain_names.empty()) return nullptr;
  const auto [at, is_new] = closed_by_key_[own ? 1 : 0].try_emplace(key, closed_.size());
  if (!is_new) return &closed_[at->second];
  return &closed_.emplace_back(
      ClosedDomains{&topology, key, own, std::vector<bool>(topology.domain_names.size(), false)});
}

void FitQuery::ClosedDomains::close(NodeIndex node) {
  if (const std::uint32_t domain = domain_of(*topology, node); domain != Topology::kNone) closed[domain] = true;
}

void FitQuery::find_own_anti_affinity() {
  if (!pod().affinity) return;
  for (const PodAffinityTerm& term : pod().affinity->required_pod_anti_affinity) {
    ClosedDomains* const domains = closed_for(term.topology_key, true);
    if (domains == nullptr) continue;
    for (const PodIndex other : cluster_->selector_cache().covered_by(term, pod_)) {
      if (other != pod_) domains->close(cluster_->node_of(other));
    }
    if (counts(pod_) && covers(term, pod_, pod_, base())) domains->close(cluster_->node_of(pod_));
  }
}

void FitQuery::find_anti_affinity_of_others() {
  for (const auto& [owners, term, weight] : cluster_->selector_cache().anti_affinity_terms_of(pod_)) {
    ClosedDomains* const domains = closed_for(term->topology_key, false);
    if (domains == nullptr) continue;
    for (const PodIndex owner : *owners) {
      if (counts(owner) && base().is_active(owner)) domains->close(cluster_->node_of(owner));
    }
  }
}

/// Follows kube-scheduler: only pods that satisfy all terms open a domain. If there is none and the pod satisfies its
/// own terms, it is the first of its kind and every domain is open.
void FitQuery::find_affinity() {
  if (!pod().affinity || pod().affinity->required_pod_affinity.empty()) return;
  const auto& terms = pod().affinity->required_pod_affinity;
  for (const PodAffinityTerm& term : terms) {
    const Topology& topology = cluster_->topology(term.topology_key);
    wanted_.push_back({&topology, term.topology_key, std::vector<bool>(topology.domain_names.size(), false)});
  }
  // Caches the result of the last label group, because covered pods with equal labels are consecutive.
  std::optional<std::pair<std::uint32_t, bool>> last;  // label group, and whether its pods satisfy all terms
  const auto satisfies_all = [&](PodIndex other) {
    const std::uint32_t group = base().label_group_of(other);
    if (!last || last->first != group)
      last.emplace(group,
                   std::ranges::all_of(terms, [&](const auto& term) { return covers(term, pod_, other, base()); }));
    return last->second;
  };
  bool found = false;
  const auto open_domains_of = [&](PodIndex other) {
    if (!satisfies_all(other)) return;
    for (WantedDomains& wanted : wanted_) {
      const std::uint32_t domain = domain_of(*wanted.topology, cluster_->node_of(other));
      if (domain == Topology::kNone) continue;
      wanted.open[domain] = true;
      found = true;
    }
  };
  for_each_covered(terms.front(), pod_, *cluster_, open_domains_of);
  if (counts(pod_)) open_domains_of(pod_);
  if (found || !satisfies_all(pod_)) return;
  for (WantedDomains& wanted : wanted_) wanted.open.assign(wanted.open.size(), true);
}

PatchyTopologies patchy_topologies(const api::Pod& pod, bool schedule_anyway, const WhatIf& cluster) {
  PatchyTopologies patchy;
  for (const api::TopologySpreadConstraint& constraint : pod.topology_spread) {
    if (constraint.schedule_anyway != schedule_anyway) continue;
    const Topology& topology = cluster.topology(constraint.topology_key);
    if (!topology.covers_all && std::ranges::find(patchy, &topology) == patchy.end()) patchy.push_back(&topology);
  }
  return patchy;
}

bool has_all(const PatchyTopologies& topologies, NodeIndex node) {
  return std::ranges::all_of(topologies,
                             [node](const Topology* each) { return each->domain_of[node] != Topology::kNone; });
}

void FitQuery::count_spread() {
  const PatchyTopologies patchy = patchy_topologies(pod(), false, *cluster_);
  for (const api::TopologySpreadConstraint& constraint : pod().topology_spread) {
    if (!constraint.schedule_anyway) spread_.push_back(count(constraint, patchy));
  }
}

FitQuery::SpreadCount FitQuery::count(const api::TopologySpreadConstraint& constraint,
                                      const PatchyTopologies& patchy) const {
  const Topology& topology = cluster_->topology(constraint.topology_key);
  const std::size_t domains = topology.domain_names.size();
  SpreadCount count{&constraint, &topology, std::vector<std::int64_t>(domains, 0)};
  const bool counts_all = counts_every_node(constraint, pod());
  bool found_itself = false;
  for (const PodIndex other : cluster_->selector_cache().counted_by(constraint, pod_)) {
    const NodeIndex node = cluster_->node_of(other);
    const std::uint32_t domain = domain_of(topology, node);
    found_itself = found_itself || other == pod_;
    if (other == pod_ || domain == Topology::kNone || !has_all(patchy, node)) continue;
    if (counts_all || is_counted_node(constraint, pod(), base().node(node))) ++count.pods[domain];
  }

  count.self = found_itself || counts_itself(constraint, pod()) ? 1 : 0;

  std::vector<bool> eligible(domains, false);
  std::size_t found = 0;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (NodeIndex node = 0; node < base().node_count() && found < domains; ++node) {
    const std::uint32_t domain = topology.domain_of[node];
    if (domain == Topology::kNone || eligible[domain] || !has_all(patchy, node)) continue;
    if (!is_counted_node(constraint, pod(), base().node(node))) continue;
    eligible[domain] = true;
    fewest = std::min(fewest, count.pods[domain]);
    ++found;
  }
  const bool too_few = constraint.min_domains && static_cast<std::int64_t>(found) < *constraint.min_domains;
  count.fewest = too_few || found == 0 ? 0 : fewest;
  return count;
}

std::optional<Refusal> refuse_neighbours(const FitQuery& query, NodeIndex node) {
  const api::Pod& pod = query.pod();
  if (!pod.affinity) return std::nullopt;
  const ClusterSnapshot& base = query.base();
  std::optional<Refusal> refusal;
  for (const PodAffinityTerm& term : pod.affinity->required_pod_anti_affinity) {
    if (!term.label_selector) continue;
    if (!term.label_selector->is_well_formed()) {
      return Refusal{"MalformedAntiAffinity", "a selector of the pod's anti-affinity over {subject} is invalid",
                     term.topology_key};
    }
    if (!base.node(node).meta.labels.contains(term.topology_key)) continue;
    query.cluster().for_each_on(node, [&](PodIndex index) {
      const api::Pod& other = base.pod(index);
      if (refusal || !base.is_active(index) || other.meta.name == pod.meta.name) return;
      const bool in_scope = term.namespaces.empty()
                                ? other.meta.ns == pod.meta.ns
                                : std::ranges::find(term.namespaces, other.meta.ns) != term.namespaces.end();
      if (!in_scope || !term.label_selector->matches(other.meta.labels)) return;
      refusal = Refusal{"AntiAffinity", "the pod's anti-affinity matches pod {subject} on the node", other.meta.name};
    });
  }
  return refusal;
}

std::optional<Refusal> refuse_closed_domain(const FitQuery& query, NodeIndex node) {
  for (const FitQuery::ClosedDomains& domains : query.closed_domains()) {
    const std::uint32_t domain = domains.topology->domain_of[node];
    if (domain == Topology::kNone || !domains.closed[domain]) continue;
    if (domains.own) {
      return Refusal{"AntiAffinity", "the pod's anti-affinity matches a pod of the same {subject}", domains.key};
    }
    return Refusal{"ExistingAntiAffinity", "a pod of the same {subject} has an anti-affinity against it", domains.key};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_unwanted_domain(const FitQuery& query, NodeIndex node) {
  for (const FitQuery::WantedDomains& domains : query.wanted_domains()) {
    const std::uint32_t domain = domains.topology->domain_of[node];
    if (domain != Topology::kNone && domains.open[domain]) continue;
    return Refusal{"AffinityUnsatisfied", "no pod that matches its affinity runs in the same {subject}", domains.key};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_skew(const FitQuery& query, NodeIndex node) {
  for (const FitQuery::SpreadCount& count : query.spread_counts()) {
    const std::string_view key = count.constraint->topology_key;
    const std::uint32_t domain = count.topology->domain_of[node];
    if (domain == Topology::kNone) return Refusal{"TopologySpread", "the node has no label {subject}", key};
    const std::int64_t skew = count.pods[domain] + count.self - count.fewest;
    if (skew <= count.constraint->max_skew) continue;
    return Refusal{"TopologySpread", "the skew over {subject} would be {wanted}, the maximum is {available}", key, skew,
                   count.constraint->max_skew};
  }
  return std::nullopt;
}

}  // namespace scheduling
