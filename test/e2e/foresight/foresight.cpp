#include "test/e2e/foresight/foresight.hpp"

#include <algorithm>

#include "api/core/codec.hpp"
#include "planner/scheduling/scoring/preferences.hpp"
#include "test/e2e/harness/await.hpp"

namespace e2e {
namespace {

using scheduling::NodeIndex;
using scheduling::NodeScoring;
using scheduling::ScoreWeights;

constexpr ScoreWeights kNothing{
    .fit = 0, .balance = 0, .taints = 0, .node_affinity = 0, .pod_affinity = 0, .spread = 0};

ScoreWeights only(int ScoreWeights::*which) {
  ScoreWeights weights = kNothing;
  weights.*which = 1;
  return weights;
}

template <typename T>
std::shared_ptr<const T> decoded(base::Result<T> result) {
  if (!result) throw Failure("cannot read an object: " + result.error().message);
  return std::make_shared<const T>(*std::move(result));
}

std::vector<std::string> names_of(const scheduling::ClusterSnapshot& cluster, const std::vector<NodeIndex>& nodes) {
  std::vector<std::string> names;
  for (const NodeIndex node : nodes) names.push_back(cluster.node(node).meta.name);
  return names;
}

}  // namespace

const std::vector<SchedulerProfile>& scheduler_profiles() {
  using enum NodeScoring;
  constexpr ScoreWeights kAll{.balance = 0};
  static const std::vector<SchedulerProfile> kProfiles = {
      {"default-scheduler", kLeastAllocated, std::nullopt},
      {"only-least-allocated", kLeastAllocated, only(&ScoreWeights::fit)},
      {"only-most-allocated", kMostAllocated, only(&ScoreWeights::fit)},
      {"only-balanced", kLeastAllocated, only(&ScoreWeights::balance)},
      {"only-taints", kLeastAllocated, only(&ScoreWeights::taints)},
      {"only-node-affinity", kLeastAllocated, only(&ScoreWeights::node_affinity)},
      {"only-pod-affinity", kLeastAllocated, only(&ScoreWeights::pod_affinity)},
      {"only-spread", kLeastAllocated, only(&ScoreWeights::spread)},
      {"all-least-allocated", kLeastAllocated, kAll},
      {"all-most-allocated", kMostAllocated, kAll},
  };
  return kProfiles;
}

const SchedulerProfile& scheduler_profile(const std::string& name) {
  const auto& all = scheduler_profiles();
  const auto at = std::ranges::find(all, name, &SchedulerProfile::name);
  if (at == all.end()) throw Failure("no scheduler profile " + name);
  return *at;
}

Foresight foresee(const std::vector<Json>& nodes, const std::vector<Json>& pods, const Json& pod,
                  const SchedulerProfile& profile, int minor) {
  scheduling::SchedulerRules rules = scheduling::scheduler_rules(minor);
  if (profile.weights) rules.weights = *profile.weights;
  scheduling::SnapshotInput input;
  for (const Json& each : nodes) input.nodes.push_back(decoded(api::decode_node(each.dump())));
  for (const Json& each : pods) input.pods.push_back(decoded(api::decode_pod(each.dump())));
  input.pods.push_back(decoded(api::decode_pod(pod.dump())));
  const api::ObjectKey key = input.pods.back()->meta.key();
  const scheduling::ClusterSnapshot cluster(std::move(input));
  const scheduling::WhatIf what_if(cluster);
  const auto index = cluster.find_pod(key.ns, key.name);
  if (!index) throw Failure("the pod " + key.name + " is not in its own snapshot");
  const scheduling::FitQuery query(what_if, *index, scheduling::FitLevel::kScheduler);
  const scheduling::ResourceScores scores(profile.scoring, rules);
  std::vector<NodeIndex> candidates;
  std::vector<int> capacity;
  for (const NodeIndex node : cluster.nodes()) {
    if (!query.fits(node)) continue;
    candidates.push_back(node);
    capacity.push_back(scores.score(what_if, *index, node));
  }
  const auto best = scheduling::best_nodes(scheduling::Preferences(query, rules), candidates, capacity);
  return {names_of(cluster, candidates), names_of(cluster, best)};
}

}  // namespace e2e
