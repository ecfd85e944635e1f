#include "planner/strategies/preferences/preference_gain.hpp"

#include <algorithm>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/preferences.hpp"

namespace strategies {
namespace {

bool states_node_affinity(const api::Pod& pod) { return pod.affinity && !pod.affinity->preferred_node_terms.empty(); }

bool states_pod_affinity(const api::Pod& pod) {
  return pod.affinity &&
         (!pod.affinity->preferred_pod_affinity.empty() || !pod.affinity->preferred_pod_anti_affinity.empty());
}

bool states_spread(const api::Pod& pod) {
  return std::ranges::any_of(pod.topology_spread, &api::TopologySpreadConstraint::schedule_anyway);
}

/// Possible nodes of the replacement, including the current node even if it rejects new pods.
std::vector<NodeIndex> candidates_of(const FitQuery& query, NodeIndex here) {
  std::vector<NodeIndex> nodes;
  for (const NodeIndex node : query.base().nodes()) {
    if (node == here || query.fits(node)) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

bool PreferenceGain::states(const api::Pod& pod) const {
  const scheduling::ScoreWeights weights = rules_for(pod).weights;
  return weights.node_affinity + weights.pod_affinity + weights.spread > 0;
}

/// The scheduler's rules with the weights of the counted preferences only.
scheduling::SchedulerRules PreferenceGain::rules_for(const api::Pod& pod) const {
  scheduling::SchedulerRules rules = rules_;
  const scheduling::ScoreWeights& all = rules_.weights;
  rules.weights = {0, 0, 0, 0, 0, 0};
  if (counted_.node_affinity && states_node_affinity(pod)) rules.weights.node_affinity = all.node_affinity;
  if (counted_.pod_affinity && states_pod_affinity(pod)) rules.weights.pod_affinity = all.pod_affinity;
  if (counted_.topology_spread && states_spread(pod)) rules.weights.spread = all.spread;
  return rules;
}

PreferenceGain::Gains PreferenceGain::of(const WhatIf& cluster, PodIndex pod) const {
  return gains(cluster, pod, Among::kWhereItFits);
}

PreferenceGain::Gains PreferenceGain::if_it_fit(const WhatIf& cluster, PodIndex pod) const {
  return gains(cluster, pod, Among::kAll);
}

PreferenceGain::Gains PreferenceGain::gains(const WhatIf& cluster, PodIndex pod, Among among) const {
  const NodeIndex here = cluster.node_of(pod);
  const scheduling::SchedulerRules rules = rules_for(cluster.base().pod(pod));
  const auto query = cluster.fit_query(pod, FitLevel::kScheduler);
  const scheduling::Preferences preferences(*query, rules);
  if (preferences.is_best(here)) return {};
  const auto all = query->base().nodes();
  const std::vector<NodeIndex> nodes =
      among == Among::kAll ? std::vector<NodeIndex>(all.begin(), all.end()) : candidates_of(*query, here);
  const std::vector<int> scores = preferences.scores(nodes);
  const auto at_here = static_cast<std::size_t>(std::ranges::lower_bound(nodes, here) - nodes.begin());
  const auto& [fit, balance, taints, node_affinity, pod_affinity, spread] = rules.weights;
  const double weight = fit + balance + taints + node_affinity + pod_affinity + spread;
  Gains gains;
  gains.points.assign(cluster.base().node_count(), kDoesNotFit);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double points = (scores[i] - scores[at_here]) / weight;
    gains.points[nodes[i]] = points;
    gains.most = std::max(gains.most, points);
  }
  return gains;
}

}  // namespace strategies
