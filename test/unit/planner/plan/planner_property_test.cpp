/// Properties of every plan on random clusters. The test parameter is the seed, which reproduces a failure.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "planner/plan/planner.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/pdb_budget.hpp"
#include "planner/scheduling/predicates.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/first_refusal.hpp"

namespace planner {
namespace planner_property_test {

using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::ClusterSnapshot;
using scheduling::kNoNode;
using scheduling::WhatIf;

class RandomCluster {
 public:
  explicit RandomCluster(unsigned seed) : random_(seed) {
    const int nodes = pick(1, 6);
    for (int i = 0; i < nodes; ++i) objects_.nodes.push_back(shared(node(i)));
    const int pods = pick(0, 60);
    for (int i = 0; i < pods; ++i) objects_.pods.push_back(shared(pod(i, nodes)));
    for (int i = 0; i < 3; ++i)
      objects_.pdbs.push_back(shared(builders::pdb("b" + std::to_string(i), app(), pick(0, 2))));
  }

  api::DeschedulerPolicySpec policy() {
    api::DeschedulerPolicySpec spec;
    spec.strategies = {
        {"PodLifeTime", R"({"maxPodLifeTimeSeconds":1800})"},
        {"LowNodeUtilization", R"({"thresholds":{"cpu":40,"pods":60},"targetThresholds":{"cpu":50,"pods":80}})"}};
    spec.evictability.node_fit = flip();
    if (flip()) spec.limits.per_cycle.total = pick(0, 10);
    if (flip()) spec.limits.per_cycle.per_node = pick(0, 4);
    if (flip()) spec.limits.per_cycle.per_namespace = pick(0, 6);
    if (flip()) spec.evictability.min_replicas = static_cast<std::uint32_t>(pick(0, 4));
    return spec;
  }
  const scheduling::SnapshotInput& objects() const { return objects_; }
  scheduling::SnapshotInput shuffled() {
    scheduling::SnapshotInput other = objects_;
    std::ranges::shuffle(other.pods, random_);
    std::ranges::shuffle(other.nodes, random_);
    std::ranges::shuffle(other.pdbs, random_);
    return other;
  }
  std::vector<PodIdentity> some_leaving() {
    std::vector<PodIdentity> leaving;
    for (const auto& pod : objects_.pods) {
      if (pick(0, 9) == 0) leaving.push_back({pod->meta.ns, pod->uid()});
    }
    return leaving;
  }

 private:
  template <typename T>
  static std::shared_ptr<const T> shared(T object) {
    return std::make_shared<const T>(std::move(object));
  }
  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  bool flip() { return pick(0, 1) == 1; }
  std::string app() { return std::string(1, static_cast<char>('a' + pick(0, 3))); }

  api::Node node(int number) {
    NodeBuilder node("n" + std::to_string(number));
    node.sized(pick(0, 4) * 1000, 4000, pick(3, 20)).label("zone", "z" + std::to_string(number % 2));
    if (pick(0, 5) == 0) node.cordoned();
    if (pick(0, 5) == 0) node.taint("t", static_cast<api::TaintEffect>(pick(0, 2)));
    if (pick(0, 7) == 0) node.not_ready();
    return node.build();
  }

  api::Pod pod(int number, int nodes) {
    PodBuilder pod("p" + std::to_string(number));
    pod.ns(flip() ? "default" : "other").label("app", app()).cpu(pick(0, 6) * 100).memory(pick(0, 400));
    if (pick(0, 9) > 0) pod.on("n" + std::to_string(pick(0, nodes)));  // The last index is the name of a deleted node
    pod.owned_by(pick(0, 5) == 0 ? "DaemonSet" : "ReplicaSet", "rs" + std::to_string(pick(0, 4)));
    pod.older_by(base::minutes(pick(-5, 60)));
    if (pick(0, 9) == 0) pod.bare();
    if (pick(0, 9) == 0) pod.terminating();
    if (pick(0, 9) == 0) pod.phase(static_cast<api::PodPhase>(pick(1, 5)));
    if (pick(0, 5) == 0) pod.anti_affinity("app", app(), flip() ? "zone" : "kubernetes.io/hostname");
    if (flip()) pod.tolerate("t");
    if (flip()) pod.priority(pick(0, 3));
    return pod.build();
  }

  std::mt19937 random_;
  scheduling::SnapshotInput objects_;
};

class PlanProperties : public testing::TestWithParam<unsigned> {
 protected:
  PlanProperties()
      : random_(GetParam()), spec_(random_.policy()), leaving_(random_.some_leaving()), cluster_(random_.objects()) {}

  Plan plan() const { return plan_cycle({PlanSpec(spec_), cluster_, leaving_, kNoon}); }
  scheduling::PodIndex index_of(const api::PlannedMove& move) const {
    return cluster_.find_pod(move.ns, move.pod).value();
  }

  RandomCluster random_;
  api::DeschedulerPolicySpec spec_;
  std::vector<PodIdentity> leaving_;
  ClusterSnapshot cluster_;
};

TEST_P(PlanProperties, DoesNotDependOnTheOrderOfTheInput) {
  const ClusterSnapshot other(random_.shuffled());
  EXPECT_EQ(plan(), plan_cycle({PlanSpec(spec_), other, leaving_, kNoon}));
}

TEST_P(PlanProperties, NeverMovesAProtectedOrLeavingPod) {
  api::FieldErrors errors;
  const scheduling::EvictabilityRules rules(spec_.evictability, cluster_, kNoon, errors);
  for (const api::PlannedMove& move : plan().moves) {
    EXPECT_FALSE(rules.refusal(index_of(move))) << move.pod;
    EXPECT_THAT(leaving_, testing::Not(testing::Contains(testing::Field(&PodIdentity::uid, api::PodUid{move.uid}))));
  }
}

TEST_P(PlanProperties, MovesAPodOnce) {
  std::set<std::string> seen;
  for (const api::PlannedMove& move : plan().moves) EXPECT_TRUE(seen.insert(move.uid).second) << move.pod;
}

TEST_P(PlanProperties, KeepsEveryLimit) {
  const Plan got = plan();
  constexpr int kUnlimited = 1'000'000;
  const api::PerCycleLimits& limits = spec_.limits.per_cycle;
  std::map<std::string, int> per_node;
  std::map<std::string, int> per_namespace;
  for (const api::PlannedMove& move : got.moves) {
    EXPECT_LE(++per_node[move.from], limits.per_node.value_or(kUnlimited));
    EXPECT_LE(++per_namespace[move.ns], limits.per_namespace.value_or(kUnlimited));
  }
  EXPECT_LE(static_cast<int>(got.moves.size()), limits.total.value_or(kUnlimited));
}

TEST_P(PlanProperties, KeepsEveryBudget) {
  scheduling::PdbBudgets budgets(cluster_);
  for (const api::PlannedMove& move : plan().moves) {
    EXPECT_FALSE(budgets.refusal(index_of(move))) << move.pod;
    budgets.spend(index_of(move));
  }
}

TEST_P(PlanProperties, PredictsPlacesThatTheSchedulerWouldAllow) {
  if (!leaving_.empty()) leaving_.clear();  // The plan predicts targets of leaving pods too, but does not report them
  WhatIf what_if(cluster_);
  for (const api::PlannedMove& move : plan().moves) {
    const auto pod = index_of(move);
    what_if.move(pod, kNoNode);
    if (move.to.empty()) continue;
    const auto to = cluster_.find_node(move.to).value();
    const auto refusal = scheduling::first_refusal(what_if, pod, to, scheduling::FitLevel::kScheduler);
    EXPECT_FALSE(refusal) << move.pod << " to " << move.to << ": " << refusal->message();
    what_if.move(pod, to);
  }
}

TEST_P(PlanProperties, CountsEveryRefusal) {
  const Plan got = plan();
  std::int32_t counted = 0;
  for (const api::ReasonCount& each : got.refused) counted += each.count;
  std::int32_t reported = 0;
  for (const StrategyResult& each : got.strategies) reported += each.refused;
  EXPECT_EQ(counted, reported);
  EXPECT_EQ(got.refusals.size(), std::min<std::size_t>(static_cast<std::size_t>(counted), PlanOptions{}.max_refusals));
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlanProperties, testing::Range(1U, 41U));

}  // namespace planner_property_test
}  // namespace planner
