/// Defragmentation: swaps, chains and the cheapest of equal moves.

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <set>

#include "test/unit/planner/plan/defragmentation/defragmentation_fixture.hpp"

namespace planner {
namespace defragmentation_test {

using namespace defragmentation_fixture;

struct CheapCase {
  std::string name;
  std::function<void(PodBuilder&)> make_dear;   ///< Applied to all pods of a node except one
  std::function<void(PodBuilder&)> make_cheap;  ///< Applied to the remaining pod
};
class CheapTest : public testing::TestWithParam<CheapCase> {};

/// Every pod of `full` frees the same capacity, and either open node can be emptied with one move.
TEST_P(CheapTest, MovesPodsWithTheSmallestDisruption) {
  ClusterBuilder cluster;
  const auto add = [&](PodBuilder pod, bool is_cheap) {
    (is_cheap ? GetParam().make_cheap : GetParam().make_dear)(pod);
    cluster.add(pod);
  };
  for (const char* node : {"full", "open-1", "open-2"}) cluster.add(NodeBuilder(node));
  for (const std::string name : {"web-1", "web-2", "web-3", "web-4"}) add(web(name, "full"), name == "web-3");
  add(quorum("quorum-1", "open-1"), false);
  add(quorum("quorum-2", "open-2"), true);
  std::set<std::string> moved;
  for (const api::PlannedMove& move : plan_of(cluster).moves) moved.insert(move.pod);
  EXPECT_THAT(moved, ElementsAre("quorum-2", "web-3"));
}

const auto kPriority = [](std::int32_t value) { return [=](PodBuilder& pod) { pod.priority(value); }; };
const auto kGrace = [](std::int64_t seconds) {
  return [=](PodBuilder& pod) { pod.with([=](api::Pod& each) { each.termination_grace_period_seconds = seconds; }); };
};
const auto kReluctant = [](PodBuilder& pod) { pod.annotate(api::well_known::kPreferNoEviction); };
const auto kPlain = [](PodBuilder&) {};

INSTANTIATE_TEST_SUITE_P(
    Defragmentation, CheapTest,
    testing::Values(CheapCase{"OfLowerPriority", kPriority(1000), kPriority(10)},
                    CheapCase{"OfNegativePriority", kPlain, kPriority(-1)},
                    CheapCase{"WithAShorterGracePeriod", kGrace(300), kGrace(10)},
                    CheapCase{"WithAShorterGracePeriodThanTheLongestOfAll",
                              kGrace(std::numeric_limits<std::int64_t>::max()), kGrace(10)},
                    CheapCase{"ThatSayNothingOfTheirGracePeriod", kGrace(31), kPlain},
                    CheapCase{"ThatDoNotAskToBeSpared", kReluctant, kPlain},
                    CheapCase{"OfHigherPriorityThatDoNotAskToBeSpared", kReluctant, kPriority(1000)},
                    CheapCase{"OfLowerPriorityWithALongerGracePeriod", kPriority(1), kGrace(3600)}),
    [](const auto& test) { return test.param.name; });

/// More freed nodes take precedence over fewer moves, and fewer moves over cheaper pods.
TEST(Defragmentation, PrefersFewerMovesOverCheaperPods) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(web("dear", "n1", 500).priority(1000));
  cluster.add(web("cheap-1", "n2", 200)).add(web("cheap-2", "n2", 200));
  EXPECT_THAT(moves_of(plan_of(cluster)), ElementsAre("1: dear n1 > n2"));
}

TEST(Defragmentation, SwapsAnOrdinaryPodForOneThatFitsNowhere) {
  const Plan plan = plan_of(fragmented(2));
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_EQ(report_of(plan).bound, 1);
  ASSERT_THAT(plan.moves, SizeIs(2));
  EXPECT_EQ(plan.moves[0].from, "full");
  EXPECT_EQ(plan.moves[0].wave, 1);
  EXPECT_EQ(plan.moves[1].to, "full");
  EXPECT_EQ(plan.moves[1].wave, 2) << "the room is free once the first move has been made";
}

TEST(Defragmentation, MovesDirectlyIfThereIsFreeCapacity) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(web("a", "n1")).add(web("b", "n1")).add(web("c", "n2"));
  EXPECT_THAT(moves_of(plan_of(cluster)), ElementsAre("1: c n2 > n1"));
}

TEST(Defragmentation, MovesChainsOfPods) {
  ClusterBuilder cluster;
  const auto only_on = [](const std::string& pool) {
    return [pool](api::Pod& pod) { pod.node_selector = {{"pool", pool}}; };
  };
  // "big" fits only on a, from which "medium" must leave. "medium" fits only on b, from which "small" must leave.
  cluster.add(NodeBuilder("a").label("pool", "a")).add(NodeBuilder("b").label("pool", "a").label("also", "b"));
  cluster.add(NodeBuilder("c")).add(NodeBuilder("d").label("pool", "a"));
  cluster.add(web("keep-a", "a", 2000).bare()).add(web("medium", "a", 2000).with(only_on("a")));
  cluster.add(web("keep-b", "b", 3000).bare()).add(web("small", "b", 1000));
  cluster.add(web("keep-c", "c", 3000).bare());
  cluster.add(web("big", "d", 1000).with(only_on("a")));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
}

TEST(Defragmentation, NeverMovesAPodTwice) {
  const Plan plan = plan_of(fragmented(4));
  std::set<std::string> moved;
  for (const api::PlannedMove& move : plan.moves) EXPECT_TRUE(moved.insert(move.pod).second) << move.pod;
  EXPECT_EQ(report_of(plan).freed, report_of(plan).bound);
}

TEST(Defragmentation, AsksForTheTaintOnEmptiedNodesOnly) {
  const Plan plan = plan_of(fragmented(2));
  ASSERT_THAT(plan.taints, SizeIs(1));
  EXPECT_EQ(plan.taints[0].key, api::well_known::kEmptyingTaint);
  EXPECT_EQ(plan.taints[0].node, plan.moves.at(1).from);
}

TEST(Defragmentation, MakesTheSamePlanAgain) { EXPECT_EQ(plan_of(fragmented(5)), plan_of(fragmented(5))); }

TEST(Defragmentation, PlacesPodsOnItsTargetsWithHints) {
  const Plan plan = plan_of(fragmented(2), {.options = {.spend_pdbs = false, .placement_hints = true}});
  EXPECT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  EXPECT_THAT(plan.moves, SizeIs(2));
}

/// Row 8 of the comparison with kube-scheduler.
TEST(Defragmentation, Row8FreesNoNodeThatAPendingPodNeeds) {
  ClusterBuilder cluster = fragmented(2);
  cluster.add(PodBuilder("waiting").cpu(4000));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).freed, 0) << testing::PrintToString(moves_of(plan));
  EXPECT_THAT(plan.moves, IsEmpty());
}

TEST(Defragmentation, SparesAPodThatNeedNotMove) {
  // By memory, x is the largest pod on n. Without y-1 and y-2, p fits whether x stays or not.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n").label("pool", "n")).add(NodeBuilder("m")).add(NodeBuilder("from"));
  cluster.add(web("keep-n", "n", 1900).memory(100).bare());
  cluster.add(web("x", "n", 100).memory(1500))
      .add(web("y-1", "n", 1000).memory(10))
      .add(web("y-2", "n", 1000).memory(10));
  cluster.add(web("keep-m", "m", 2000).memory(3000).bare());
  cluster.add(web("p", "from", 2000).memory(2000).with([](api::Pod& pod) { pod.node_selector = {{"pool", "n"}}; }));
  const Plan plan = plan_of(cluster, {.options = {.spend_pdbs = false, .placement_hints = true}});
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_THAT(plan.moves, SizeIs(3)) << testing::PrintToString(moves_of(plan));
  for (const api::PlannedMove& move : plan.moves) EXPECT_NE(move.from, move.to) << move.pod;
}

TEST(Defragmentation, FreesANodeBesideAnOvercommittedOne) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("shrunk")).add(NodeBuilder("b")).add(NodeBuilder("c"));
  cluster.add(web("a-1", "shrunk", 3000)).add(web("a-2", "shrunk", 2000));
  cluster.add(web("on-b", "b", 2000)).add(web("on-c", "c", 2000));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).bound, 1);
  EXPECT_EQ(report_of(plan).freed, 1);
}

TEST(Defragmentation, FreesANodeIfOthersLackDifferentResources) {
  ClusterBuilder cluster;
  for (const char* node : {"cpu-1", "cpu-2"})
    cluster.add(NodeBuilder(node)).add(web(std::string("on-") + node, node, 3900).memory(100).bare());
  cluster.add(NodeBuilder("memory")).add(web("on-memory", "memory", 100).memory(3900).bare());
  cluster.add(NodeBuilder("light")).add(web("small", "light", 1500).memory(50));
  EXPECT_EQ(report_of(plan_of(cluster)).freed, 1);
}

TEST(Defragmentation, MovesAsManySmallPodsAsNeeded) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("full").label("pool", "a").sized(4000, 4000, 50));
  for (int i = 0; i < 20; ++i) cluster.add(web("web-" + std::to_string(i), "full", 200));
  cluster.add(NodeBuilder("other").sized(4000, 4000, 50)).add(web("stays", "other", 2800).bare());
  cluster.add(NodeBuilder("open"));
  cluster.add(web("large", "open", 1200).with([](api::Pod& pod) { pod.node_selector = {{"pool", "a"}}; }));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_THAT(plan.moves, SizeIs(7)) << testing::PrintToString(moves_of(plan));
}

}  // namespace defragmentation_test
}  // namespace planner
