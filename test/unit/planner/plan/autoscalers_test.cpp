/// Annotations and taints of cluster-autoscaler and Karpenter in complete planning cycles.

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace autoscalers_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr auto kSafe = "cluster-autoscaler.kubernetes.io/safe-to-evict";
constexpr auto kKeepNode = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
constexpr auto kDisrupt = "karpenter.sh/do-not-disrupt";
constexpr auto kPack = R"({"thresholds": {"cpu": 30}})";
constexpr auto kLevel = R"({"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}})";

api::DeschedulerPolicySpec policy(std::string strategy, std::string args) {
  api::DeschedulerPolicySpec spec;
  spec.strategies.push_back({std::move(strategy), std::move(args)});
  return spec;
}

Plan plan_of(const ClusterBuilder& builder, const api::DeschedulerPolicySpec& spec) {
  const auto cluster = builder.build();
  return plan_cycle({.spec = PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon});
}

PodBuilder pod(const std::string& name, const std::string& node, std::int64_t cpu = 500) {
  return PodBuilder(name).on(node).cpu(cpu).owned_by("ReplicaSet", name);
}

std::vector<std::string> moves_of(const Plan& plan) {
  std::vector<std::string> moves;
  for (const api::PlannedMove& move : plan.moves) moves.push_back(move.pod + " > " + move.to);
  return moves;
}

std::vector<std::string> reasons_of(const Plan& plan) {
  std::vector<std::string> reasons;
  for (const api::RefusedPod& row : plan.refusals) reasons.push_back(row.pod + ": " + row.reason);
  return reasons;
}

std::vector<std::string> held_of(const Plan& plan) {
  std::vector<std::string> rows;
  for (const auto& held : plan.strategies.at(0).emptying.value().held)
    rows.push_back(held.node + " " + held.pod + ": " + held.reason);
  return rows;
}

/// A nearly empty node and a node with free capacity.
ClusterBuilder with_low_node(const PodBuilder& on_it, const NodeBuilder& low = NodeBuilder("low")) {
  ClusterBuilder cluster;
  cluster.add(low).add(on_it).add(NodeBuilder("used")).add(pod("web", "used", 2000));
  return cluster;
}

// --- pods

struct PodCase {
  std::string name;
  std::string key;
  std::string value;
  std::optional<api::AutoscalerAnnotations> annotations;
  api::Compatibility compatibility;
  std::string want;  ///< Reason of the refusal, empty if the pod moves
};

class AutoscalerAnnotationsOfPods : public testing::TestWithParam<PodCase> {};

TEST_P(AutoscalerAnnotationsOfPods, KeepThemAndTheirNodes) {
  const PodCase& c = GetParam();
  const ClusterBuilder cluster = with_low_node(pod("p", "low").annotate(c.key, c.value));
  api::DeschedulerPolicySpec spec = policy("HighNodeUtilization", kPack);
  spec.evictability.autoscaler_annotations = c.annotations;
  spec.compatibility = c.compatibility;
  const Plan plan = plan_of(cluster, spec);
  if (c.want.empty()) {
    EXPECT_THAT(moves_of(plan), ElementsAre("p > used"));
  } else {
    EXPECT_THAT(moves_of(plan), IsEmpty());
    EXPECT_THAT(reasons_of(plan), ElementsAre("p: " + c.want));
  }
}

using enum api::Compatibility;
using enum api::AutoscalerAnnotations;

INSTANTIATE_TEST_SUITE_P(Pods, AutoscalerAnnotationsOfPods,
                         testing::Values(PodCase{"ByDefault", kSafe, "false", {}, kNone, "NotSafeToEvict"},
                                         PodCase{"ByDefaultOfKarpenter", kDisrupt, "true", {}, kNone, "DoNotDisrupt"},
                                         PodCase{"ForATime", kDisrupt, "2h", {}, kNone, "DoNotDisrupt"},
                                         PodCase{"NoLongerThanThat", kDisrupt, "30m", {}, kNone, ""},
                                         PodCase{"UnlessTheyAreIgnored", kSafe, "false", kIgnore, kNone, ""},
                                         PodCase{"UnlessThoseOfKarpenterAre", kDisrupt, "true", kIgnore, kNone, ""},
                                         PodCase{"NotForUpstream", kSafe, "false", {}, kUpstream, ""},
                                         PodCase{"ForUpstreamOnRequest", kSafe, "false", kRespect, kUpstream,
                                                 "NotSafeToEvict"}),
                         [](const auto& test) { return test.param.name; });

TEST(Autoscalers, TheEvictAnnotationIsStronger) {
  const ClusterBuilder cluster =
      with_low_node(pod("p", "low").annotate(kSafe, "false").annotate("descheduler.alpha.kubernetes.io/evict", "true"));
  EXPECT_THAT(moves_of(plan_of(cluster, policy("HighNodeUtilization", kPack))), ElementsAre("p > used"));
}

TEST(Autoscalers, TheReportOfHeldNodesNamesThem) {
  ClusterBuilder cluster = with_low_node(pod("p", "low").annotate(kDisrupt, "true"));
  cluster.add(NodeBuilder("kept").with([](api::Node& x) { x.meta.annotations = {{kKeepNode, "true"}}; }));
  cluster.add(pod("q", "kept"));
  const Plan plan = plan_of(cluster, policy("Defragmentation", "{}"));
  EXPECT_THAT(held_of(plan), testing::IsSupersetOf({"low p: DoNotDisrupt", "kept q: NodeStays"}));
}

// --- nodes that autoscalers keep

TEST(Autoscalers, NodesThatStayAreNotEmptied) {
  const auto keep = [](const char* key) {
    return NodeBuilder("low").with([=](api::Node& x) { x.meta.annotations = {{key, "true"}}; });
  };
  for (const char* key : {kKeepNode, kDisrupt}) {
    const ClusterBuilder cluster = with_low_node(pod("p", "low"), keep(key));
    api::DeschedulerPolicySpec spec = policy("HighNodeUtilization", kPack);
    const Plan plan = plan_of(cluster, spec);
    EXPECT_THAT(moves_of(plan), IsEmpty()) << key;
    EXPECT_THAT(reasons_of(plan), ElementsAre("p: NodeStays")) << key;
    spec.evictability.autoscaler_annotations = kIgnore;
    EXPECT_THAT(moves_of(plan_of(cluster, spec)), ElementsAre("p > used")) << key;
  }
}

TEST(Autoscalers, NodesThatStayTakePods) {
  ClusterBuilder cluster = with_low_node(pod("p", "low", 1000), NodeBuilder("low").with([](api::Node& x) {
    x.meta.annotations = {{kKeepNode, "true"}};
  }));
  cluster.add(NodeBuilder("other")).add(pod("q", "other"));
  cluster.add(pod("more", "used", 2000));
  EXPECT_THAT(moves_of(plan_of(cluster, policy("HighNodeUtilization", kPack))), ElementsAre("q > low"));
}

// --- nodes that an autoscaler is about to remove

struct RemovalCase {
  std::string name;
  std::string taint;
  api::TaintEffect effect;
};

class NodesThatGo : public testing::TestWithParam<RemovalCase> {
 protected:
  NodeBuilder node(const std::string& name) const {
    return NodeBuilder(name).taint(GetParam().taint, GetParam().effect);
  }
  /// Pod that tolerates the taint of the node.
  PodBuilder tolerant(const std::string& name, const std::string& on, std::int64_t cpu = 500) const {
    return pod(name, on, cpu).tolerate(GetParam().taint);
  }
};

TEST_P(NodesThatGo, AreNotEmptiedByStrategies) {
  const ClusterBuilder cluster = with_low_node(pod("p", "low"), node("low"));
  for (const char* strategy : {"HighNodeUtilization", "Defragmentation"}) {
    const std::string args = strategy == std::string("Defragmentation") ? "{}" : kPack;
    EXPECT_THAT(moves_of(plan_of(cluster, policy(strategy, args))), IsEmpty()) << strategy;
  }
}

TEST_P(NodesThatGo, AreNotRelieved) {
  ClusterBuilder cluster;
  cluster.add(node("going")).add(NodeBuilder("empty"));
  for (const char* name : {"a", "b", "c"}) cluster.add(pod(name, "going", 1000));
  EXPECT_THAT(moves_of(plan_of(cluster, policy("LowNodeUtilization", kLevel))), IsEmpty());
}

TEST_P(NodesThatGo, TakeNoPods) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("full")).add(node("going"));
  for (const char* name : {"a", "b", "c"}) cluster.add(tolerant(name, "full", 1000));
  EXPECT_THAT(moves_of(plan_of(cluster, policy("LowNodeUtilization", kLevel))), IsEmpty());
  cluster.add(NodeBuilder("stays"));
  const Plan plan = plan_of(cluster, policy("LowNodeUtilization", kLevel));
  for (const api::PlannedMove& move : plan.moves) EXPECT_EQ(move.to, "stays") << move.pod;
}

/// PodLifeTime has no goal for the target. Its pods must avoid nodes that are being removed as well.
TEST_P(NodesThatGo, AreNeverTheTargetOfAMove) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("old")).add(node("going")).add(tolerant("p", "old"));
  const api::DeschedulerPolicySpec spec = policy("PodLifeTime", R"({"maxPodLifeTimeSeconds": 60})");
  for (const api::PlannedMove& move : plan_of(cluster, spec).moves) EXPECT_EQ(move.to, "old");
}

TEST_P(NodesThatGo, AreOrdinaryNodesForUpstream) {
  ClusterBuilder cluster = with_low_node(pod("p", "low"), node("low"));
  api::DeschedulerPolicySpec spec = policy("HighNodeUtilization", kPack);
  spec.compatibility = kUpstream;
  EXPECT_THAT(moves_of(plan_of(cluster, spec)), ElementsAre("p > used"));
}

INSTANTIATE_TEST_SUITE_P(
    Taints, NodesThatGo,
    testing::Values(RemovalCase{"ToBeDeleted", "ToBeDeletedByClusterAutoscaler", api::TaintEffect::kNoSchedule},
                    RemovalCase{"Candidate", "DeletionCandidateOfClusterAutoscaler",
                                api::TaintEffect::kPreferNoSchedule},
                    RemovalCase{"Disrupted", "karpenter.sh/disrupted", api::TaintEffect::kNoSchedule},
                    RemovalCase{"Disruption", "karpenter.sh/disruption", api::TaintEffect::kNoSchedule}),
    [](const auto& test) { return test.param.name; });

/// Two nodes of 4 cpu. Pods of the node that is being removed need the free capacity that the low node's pod would use.
TEST(Autoscalers, PodsOfARemovedNodeUseCapacityElsewhere) {
  for (const bool goes : {false, true}) {
    ClusterBuilder cluster;
    NodeBuilder going("going");
    if (goes) going.taint("ToBeDeletedByClusterAutoscaler");
    cluster.add(going).add(pod("leaves", "going", 2000));
    cluster.add(NodeBuilder("low")).add(pod("p", "low", 1000));
    cluster.add(NodeBuilder("used")).add(pod("web", "used", 2000));
    const Plan plan = plan_of(cluster, policy("HighNodeUtilization", kPack));
    if (goes) {
      EXPECT_THAT(moves_of(plan), IsEmpty());
    } else {
      EXPECT_THAT(moves_of(plan), testing::SizeIs(1));
    }
  }
}

}  // namespace autoscalers_test
}  // namespace planner
