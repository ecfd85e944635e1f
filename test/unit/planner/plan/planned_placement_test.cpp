#include "planner/plan/planned_placement.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "test/builders/cluster.hpp"

namespace planner {
namespace planned_placement_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::kNoNode;
using scheduling::NodeScoring;
using testing::ElementsAre;

/// A snapshot with what a plan keeps of it.
struct World {
  explicit World(const ClusterBuilder& builder)
      : cluster(builder.build()), what_if(*cluster), predictor(*cluster, NodeScoring::kLeastAllocated) {}

  PodIndex pod(const std::string& name) const { return cluster->find_pod("default", name).value(); }
  NodeIndex node(const std::string& name) const { return cluster->find_node(name).value(); }
  std::string name_of(std::optional<NodeIndex> node) const {
    return node.value_or(kNoNode) == kNoNode ? "" : cluster->node(*node).meta.name;
  }
  /// Name of the node that the pod is on in `what_if`, or "".
  std::string place(const std::string& name) const { return name_of(what_if.node_of(pod(name))); }
  Placement predict(const std::string& name, const Goal& goal = {}, TargetChoice choice = TargetChoice::kScheduler) {
    return predict_replacement(what_if, predictor, pod(name), pending, goal, choice);
  }
  Goal only(const std::string& name) const {
    return [wanted = node(name)](NodeIndex each) { return each == wanted; };
  }

  std::unique_ptr<const ClusterSnapshot> cluster;
  WhatIf what_if;
  TargetPredictor predictor;
  PendingPods pending;
};

/// A pod without a node that requests `cpu` thousandths of a core.
PodBuilder waiting(const std::string& name, std::int64_t cpu) {
  return PodBuilder(name).cpu(cpu).phase(api::PodPhase::kPending);
}
PodBuilder nominated(const std::string& name, const std::string& node) {
  return waiting(name, 100).with([&](api::Pod& pod) { pod.nominated_node = {node}; });
}

// --- cost_of()

struct CostCase {
  std::string name;
  std::function<void(PodBuilder&)> arrange;
  std::size_t want;
};

class CostOfAPod : public testing::TestWithParam<CostCase> {};

TEST_P(CostOfAPod, CountsWhatAPredictionCompares) {
  PodBuilder pod("p");
  GetParam().arrange(pod);
  EXPECT_EQ(cost_of(pod.build()), GetParam().want);
}

std::function<void(PodBuilder&)> volume(api::VolumeKind kind) {
  return [kind](PodBuilder& pod) {
    pod.with([&](api::Pod& object) {
      api::Volume each;
      each.kind = kind;
      object.volumes.push_back(std::move(each));
    });
  };
}
std::function<void(PodBuilder&)> tolerations(int count) {
  return [count](PodBuilder& pod) {
    for (int i = 0; i < count; ++i) pod.tolerate("t" + std::to_string(i));
  };
}

INSTANTIATE_TEST_SUITE_P(
    Placement, CostOfAPod,
    testing::Values(
        CostCase{"Plain", [](PodBuilder&) {}, 1},
        CostCase{"AntiAffinity",
                 [](PodBuilder& pod) { pod.anti_affinity("app", "a", "zone").anti_affinity("app", "b", "zone"); }, 3},
        CostCase{"Spread",
                 [](PodBuilder& pod) { pod.with([](api::Pod& object) { object.topology_spread.push_back({}); }); }, 2},
        CostCase{"FewTolerations", tolerations(15), 1}, CostCase{"ManyTolerations", tolerations(32), 3},
        CostCase{"Claim", volume(api::VolumeKind::kPersistentVolumeClaim), 2},
        CostCase{"EphemeralClaim", volume(api::VolumeKind::kEphemeral), 2},
        CostCase{"EmptyDir", volume(api::VolumeKind::kEmptyDir), 1}),
    [](const auto& test) { return test.param.name; });

// --- PendingPods::place()

struct PlaceCase {
  std::string name;
  std::function<void(ClusterBuilder&)> arrange;  ///< the node n has one core and one pod fits on it
  std::string want;                              ///< the pending pods on n
};

class PlaceOfPendingPods : public testing::TestWithParam<PlaceCase> {};

TEST_P(PlaceOfPendingPods, FollowsTheQueueOfTheScheduler) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n").sized(1000, 4000, 10));
  GetParam().arrange(builder);
  World world(builder);
  world.pending.place(world.what_if, world.predictor);
  std::string on_n;
  for (const PodIndex pod : world.cluster->unscheduled_pods()) {
    if (world.what_if.node_of(pod) == world.node("n")) on_n += world.cluster->pod(pod).meta.name + " ";
  }
  EXPECT_EQ(on_n, GetParam().want);
}

using C = ClusterBuilder;

INSTANTIATE_TEST_SUITE_P(
    Placement, PlaceOfPendingPods,
    testing::Values(
        PlaceCase{"Both", [](C& c) { c.add(waiting("a", 500)).add(waiting("b", 500)); }, "a b "},
        PlaceCase{"HigherPriorityFirst", [](C& c) { c.add(waiting("a", 1000)).add(waiting("b", 1000).priority(1)); },
                  "b "},
        PlaceCase{"OlderFirst",
                  [](C& c) {
                    c.add(waiting("a", 1000).older_by(base::seconds(60)));
                    c.add(waiting("b", 1000).older_by(base::seconds(90)));
                  },
                  "b "},
        PlaceCase{"ByNameAtTheSameAge", [](C& c) { c.add(waiting("b", 1000)).add(waiting("a", 1000)); }, "a "},
        PlaceCase{"ANominatedPodEvenIfItDoesNotFit",
                  [](C& c) { c.add(PodBuilder("full").on("n").cpu(1000)).add(nominated("a", "n")); }, "a "},
        PlaceCase{"AnUnknownNominationLikeNone",
                  [](C& c) { c.add(PodBuilder("full").on("n").cpu(1000)).add(nominated("a", "gone")); }, ""},
        PlaceCase{"NotGatedPods",
                  [](C& c) { c.add(waiting("a", 100).with([](api::Pod& pod) { pod.has_scheduling_gates = true; })); },
                  ""},
        PlaceCase{
            "NotOversizedPods",
            [](C& c) { c.add(waiting("a", 100).with([](api::Pod& pod) { pod.oversized = "spec.tolerations"; })); }, ""},
        PlaceCase{"NotTerminatingPods", [](C& c) { c.add(waiting("a", 100).terminating()); }, ""},
        PlaceCase{"NotPodsOfAnUnknownNode", [](C& c) { c.add(waiting("a", 100).on("gone")); }, ""}),
    [](const auto& test) { return test.param.name; });

TEST(PendingPodsTest, PlaceReportsAHeartbeatForEachPod) {
  World world(ClusterBuilder().add(NodeBuilder("n")).add(waiting("a", 100)).add(waiting("b", 9000)));
  int beats = 0;
  world.pending.place(world.what_if, world.predictor, [&] { ++beats; });
  EXPECT_EQ(beats, 2);
}

TEST(PendingPodsTest, PlaceTakesTwoHundredPodsWithNamespacesInTurn) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n").sized(4000, 4000, 1000));
  for (int i = 0; i < 250; ++i)
    builder.add(PodBuilder("a" + std::to_string(i)).ns("crowd").older_by(base::seconds(99)));
  builder.add(PodBuilder("b").older_by(base::seconds(1)));
  World world(builder);
  world.pending.place(world.what_if, world.predictor);
  std::size_t placed = 0;
  for (const PodIndex pod : world.cluster->unscheduled_pods()) placed += world.what_if.node_of(pod) == kNoNode ? 0 : 1;
  EXPECT_EQ(placed, 200U);
  EXPECT_EQ(world.place("b"), "n");
}

// --- Nominated pods

TEST(PendingPodsTest, NominatedPodsOfLowerPriorityGiveWayUntilSettled) {
  World world(ClusterBuilder()
                  .add(NodeBuilder("n"))
                  .add(nominated("low", "n").priority(1))
                  .add(nominated("same", "n").priority(5))
                  .add(PodBuilder("p").on("n").priority(5)));
  world.pending.place(world.what_if, world.predictor);
  world.pending.free_capacity_for(world.what_if, world.pod("p"));
  EXPECT_EQ(world.place("low"), "");
  EXPECT_EQ(world.place("same"), "n");
  world.pending.settle(world.what_if);
  EXPECT_EQ(world.place("low"), "n");
}

// --- Waiting pods

struct TakeCase {
  std::string name;
  std::function<void(ClusterBuilder&)> arrange;  ///< "p" takes 3 of the 4 cores of "n"
  std::string from;                              ///< node whose capacity is offered, "" for none
  std::int32_t least_priority;
  std::string want;  ///< pods that take the capacity
};

class TakeCapacity : public testing::TestWithParam<TakeCase> {};

TEST_P(TakeCapacity, IsReversible) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n")).add(PodBuilder("p").on("n").cpu(3000));
  GetParam().arrange(builder);
  World world(builder);
  world.pending.place(world.what_if, world.predictor);
  const auto on_n = [&] {
    std::string names;
    for (const PodIndex pod : world.cluster->unscheduled_pods()) {
      if (world.what_if.node_of(pod) == world.node("n")) names += world.cluster->pod(pod).meta.name + " ";
    }
    return names;
  };
  ASSERT_EQ(on_n(), "");
  world.what_if.move(world.pod("p"), kNoNode);
  const NodeIndex from = GetParam().from.empty() ? kNoNode : world.node(GetParam().from);
  world.pending.take_capacity(world.what_if, world.pod("p"), from, GetParam().least_priority);
  EXPECT_EQ(on_n(), GetParam().want);
  world.pending.give_back(world.what_if, world.pod("p"));
  EXPECT_EQ(on_n(), "");
  world.pending.take_capacity(world.what_if, world.pod("p"), from, GetParam().least_priority);
  EXPECT_EQ(on_n(), GetParam().want) << "pods that gave it back wait again";
}

constexpr std::int32_t kAnyPriority = std::numeric_limits<std::int32_t>::min();

INSTANTIATE_TEST_SUITE_P(
    Placement, TakeCapacity,
    testing::Values(
        TakeCase{"APodThatFits", [](C& c) { c.add(waiting("w", 3000)); }, "n", kAnyPriority, "w "},
        TakeCase{"AsManyAsFit", [](C& c) { c.add(waiting("u", 2000)).add(waiting("v", 2000)).add(waiting("w", 2000)); },
                 "n", kAnyPriority, "u v "},
        TakeCase{"FirstInTheQueue", [](C& c) { c.add(waiting("v", 3000)).add(waiting("w", 3000).priority(1)); }, "n",
                 kAnyPriority, "w "},
        TakeCase{"ASmallerPodBehindOneThatDoesNotFit",
                 [](C& c) { c.add(waiting("v", 5000).priority(1)).add(waiting("w", 3000)); }, "n", kAnyPriority, "w "},
        TakeCase{"NotAPodThatIsTooLarge", [](C& c) { c.add(waiting("w", 5000)); }, "n", kAnyPriority, ""},
        TakeCase{"NotAPodThatTheNodeRepels",
                 [](C& c) {
                   c.add(waiting("w", 3000).with([](api::Pod& pod) { pod.node_selector = {{"disk", "ssd"}}; }));
                 },
                 "n", kAnyPriority, ""},
        TakeCase{"NotALowerPriority", [](C& c) { c.add(waiting("w", 3000).priority(4)); }, "n", 5, ""},
        TakeCase{"TheSamePriority", [](C& c) { c.add(waiting("w", 3000).priority(5)); }, "n", 5, "w "},
        TakeCase{"NotAnExpensivePod",
                 [](C& c) {
                   PodBuilder pod = waiting("w", 3000);
                   tolerations(256)(pod);
                   c.add(pod);
                 },
                 "n", kAnyPriority, ""},
        TakeCase{"NothingWithoutANode", [](C& c) { c.add(waiting("w", 3000)); }, "", kAnyPriority, ""}),
    [](const auto& test) { return test.param.name; });

// --- predict_replacement()

TEST(PredictReplacement, TakesThePodOffItsNodeWithoutPlacingTheReplacement) {
  World world(ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("p").on("n1").cpu(1000)));
  const Placement placement = world.predict("p");
  EXPECT_EQ(world.name_of(placement.node), "n2") << "the old pod still counts";
  EXPECT_EQ(world.place("p"), "");
}

TEST(PredictReplacement, FallsBackToTheNodeOnceThePodIsGone) {
  World world(ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("p").on("n1").cpu(3000)));
  EXPECT_EQ(world.name_of(world.predict("p").node), "n1");
}

TEST(PredictReplacement, PlacesAPodOfAStatefulSetAfterItsEnd) {
  World world(ClusterBuilder()
                  .add(NodeBuilder("n1"))
                  .add(NodeBuilder("n2"))
                  .add(PodBuilder("p").on("n1").cpu(1000).owned_by("StatefulSet", "db"))
                  .add(PodBuilder("q").on("n2").cpu(500)));
  EXPECT_EQ(world.name_of(world.predict("p").node), "n1");
}

TEST(PredictReplacement, OfAPodWithoutAnOwnerIsNone) {
  World world(ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("p").on("n1").bare()));
  const Placement placement = world.predict("p");
  EXPECT_EQ(placement.node, std::nullopt);
  EXPECT_FALSE(placement.fits_nowhere);
  EXPECT_EQ(world.place("p"), "");
}

TEST(PredictReplacement, LeavesTheCapacityToAWaitingPodOfTheSamePriority) {
  World world(ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("p").on("n1").cpu(3000)).add(waiting("w", 3000)));
  world.pending.place(world.what_if, world.predictor);
  const Placement placement = world.predict("p");
  EXPECT_EQ(placement.node, std::nullopt);
  EXPECT_TRUE(placement.fits_nowhere);
  EXPECT_EQ(world.place("w"), "n1");
}

TEST(PredictReplacement, TakesTheCapacityBeforeAWaitingPodOfLowerPriority) {
  World world(ClusterBuilder()
                  .add(NodeBuilder("n1"))
                  .add(PodBuilder("p").on("n1").cpu(3000).priority(1))
                  .add(waiting("w", 3000)));
  world.pending.place(world.what_if, world.predictor);
  EXPECT_EQ(world.name_of(world.predict("p").node), "n1");
  EXPECT_EQ(world.place("w"), "");
}

/// Nodes n1 and n2, of which the scheduler prefers n1.
ClusterBuilder with_favourite() {
  return ClusterBuilder()
      .add(NodeBuilder("home").cordoned())
      .add(NodeBuilder("n1"))
      .add(NodeBuilder("n2"))
      .add(PodBuilder("q").on("n2").cpu(500))
      .add(PodBuilder("p").on("home").cpu(100));
}

TEST(PredictReplacement, OfTheSchedulerReportsTheNodeThatCompetes) {
  World world(with_favourite());
  const Placement placement = world.predict("p", world.only("n2"));
  EXPECT_EQ(placement.node, std::nullopt);
  EXPECT_EQ(world.name_of(placement.competing_node), "n1");
}

TEST(PredictReplacement, OfThePlanIsTheHintedNode) {
  World world(with_favourite());
  const Placement placement = world.predict("p", world.only("n2"), TargetChoice::kPlan);
  EXPECT_EQ(world.name_of(placement.node), "n2");
  EXPECT_EQ(placement.competing_node, std::nullopt);
}

// --- PlannedPlacement

TEST(PlannedPlacementTest, MovesPodsOnACopyOnly) {
  World world(with_favourite());
  PlannedPlacement placement(world.what_if, world.predictor, world.pending,
                             [](PodIndex) { return TargetChoice::kScheduler; });
  EXPECT_EQ(world.name_of(placement.relocate(world.pod("p"), {})), "n1");
  EXPECT_EQ(placement.cluster().node_of(world.pod("p")), world.node("n1"));
  EXPECT_EQ(world.place("p"), "home");
  placement.restore(world.pod("p"));
  EXPECT_EQ(placement.cluster().node_of(world.pod("p")), world.node("home"));
  EXPECT_FALSE(placement.cluster().is_moved(world.pod("p")));
}

TEST(PlannedPlacementTest, ChangesNothingIfTheGoalAcceptsNoNode) {
  World world(with_favourite());
  PlannedPlacement placement(world.what_if, world.predictor, world.pending,
                             [](PodIndex) { return TargetChoice::kScheduler; });
  const auto nowhere = [](NodeIndex) { return false; };
  EXPECT_EQ(placement.relocate(world.pod("p"), nowhere), std::nullopt);
  EXPECT_FALSE(placement.cluster().is_moved(world.pod("p")));
  ASSERT_TRUE(placement.relocate(world.pod("p"), {}));
  EXPECT_EQ(placement.relocate(world.pod("p"), nowhere), std::nullopt);
  EXPECT_EQ(placement.cluster().node_of(world.pod("p")), world.node("n1")) << "its last node, not its first one";
}

TEST(PlannedPlacementTest, AsksForTheChoiceOfEachPod) {
  World world(with_favourite());
  std::vector<PodIndex> asked;
  PlannedPlacement placement(world.what_if, world.predictor, world.pending, [&](PodIndex pod) {
    asked.push_back(pod);
    return TargetChoice::kPlan;
  });
  EXPECT_EQ(world.name_of(placement.relocate(world.pod("p"), world.only("n2"))), "n2");
  EXPECT_THAT(asked, ElementsAre(world.pod("p")));
}

TEST(PlannedPlacementTest, WaitingPodsTakeAndGiveBackTheCapacity) {
  World world(with_favourite()
                  .add(NodeBuilder("n3").sized(1000, 4000, 10).taint("gpu"))
                  .add(PodBuilder("r").on("n3").cpu(1000).tolerate("gpu"))
                  .add(waiting("w", 1000).tolerate("gpu").with([](api::Pod& pod) {
                    pod.node_selector = {{std::string(api::well_known::kHostnameLabel), "n3"}};
                  })));
  world.pending.place(world.what_if, world.predictor);
  PlannedPlacement placement(world.what_if, world.predictor, world.pending,
                             [](PodIndex) { return TargetChoice::kScheduler; });
  ASSERT_TRUE(placement.relocate(world.pod("r"), {}));
  EXPECT_EQ(placement.cluster().node_of(world.pod("w")), world.node("n3"));
  placement.restore(world.pod("r"));
  EXPECT_EQ(placement.cluster().node_of(world.pod("w")), kNoNode);
}

TEST(PlannedPlacementTest, ForksAndDetachedCopiesAreIndependent) {
  World world(with_favourite());
  PlannedPlacement placement(world.what_if, world.predictor, world.pending,
                             [](PodIndex) { return TargetChoice::kScheduler; });
  for (const auto& copy : {placement.fork(), placement.detach()}) {
    ASSERT_TRUE(copy->relocate(world.pod("p"), {}));
    EXPECT_EQ(copy->cluster().node_of(world.pod("p")), world.node("n1"));
    EXPECT_EQ(placement.cluster().node_of(world.pod("p")), world.node("home"));
  }
}

// --- Soft taints

TEST(SoftTaintsOfAPlan, AreAddedToThoseOfTheKey) {
  World world(ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3")));
  world.what_if.set_soft_taint({"key", "policy", {2}});
  const std::vector<NodeIndex> more = {2, 0};
  EXPECT_TRUE(add_soft_taint(world.what_if, "key", more));
  ASSERT_EQ(world.what_if.soft_taints().size(), 1U);
  EXPECT_EQ(world.what_if.soft_taints()[0].value, "policy");
  EXPECT_THAT(world.what_if.soft_taints()[0].nodes, ElementsAre(0U, 2U));
}

TEST(SoftTaintsOfAPlan, AreRefusedForAnotherKey) {
  World world(ClusterBuilder().add(NodeBuilder("n1")));
  const std::vector<NodeIndex> nodes = {0};
  EXPECT_FALSE(add_soft_taint(world.what_if, "key", nodes));
  EXPECT_TRUE(world.what_if.soft_taints().empty());
}

TEST(SoftTaintsOfAPlan, OfAPlacementKeepTheSchedulerAway) {
  World world(with_favourite());
  world.what_if.set_soft_taint({"key", "policy", {}});
  PlannedPlacement placement(world.what_if, world.predictor, world.pending,
                             [](PodIndex) { return TargetChoice::kScheduler; });
  const std::vector<NodeIndex> favourite = {world.node("n1")};
  placement.avoid("key", favourite);
  EXPECT_TRUE(placement.cluster().has_soft_taint(world.node("n1")));
  EXPECT_FALSE(world.what_if.has_soft_taint(world.node("n1")));
  EXPECT_EQ(world.name_of(placement.relocate(world.pod("p"), {})), "n2");
}

}  // namespace planned_placement_test
}  // namespace planner
