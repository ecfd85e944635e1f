/// Defragmentation: its arguments, the limits of a cycle, and the time that a search gets.

#include <gmock/gmock.h>

#include "test/unit/planner/plan/defragmentation/defragmentation_fixture.hpp"

namespace planner {
namespace defragmentation_arguments_test {

using namespace defragmentation_fixture;

TEST(DefragmentationArgs, MaxMovesLimitsTheNumberOfFreedNodes) {
  const Plan plan = plan_of(fragmented(4), {.args = R"({"maxMoves": 3})"});
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_LE(plan.moves.size(), 3U);
}

TEST(DefragmentationArgs, TheLimitOfACycleCountsAsWell) {
  const Plan plan = plan_of(fragmented(4), {.limits = {2, {}, {}}});
  EXPECT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  EXPECT_THAT(plan.moves, SizeIs(2));
}

TEST(DefragmentationArgs, AZeroLimitIsReportedAndNothingIsSearched) {
  int looks = 0;
  const auto look = [&] { return ++looks, false; };
  const Plan plan =
      plan_of(fragmented(4), {.options = {.taint_value = "p", .is_cancelled = look}, .limits = {0, {}, {}}});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(plan.taints, IsEmpty());
  EXPECT_EQ(report_of(plan).note, "limits.perCycle.total allows no moves");
  EXPECT_EQ(report_of(plan).bound, 1) << "what could be had";
  EXPECT_LE(looks, 10);
}

struct CutCase {
  std::string name;
  api::PerCycleLimits limits;
  std::string note;
};

class CutTest : public testing::TestWithParam<CutCase> {};

TEST_P(CutTest, MovesNothingUnlessTheWholePlanMayGo) {
  ClusterBuilder cluster = fragmented(1);
  cluster.add(NodeBuilder("open-2")).add(quorum("quorum-2", "open-2", 600)).add(web("web-5", "open-2", 500));
  const Plan plan = plan_of(cluster, {.limits = GetParam().limits});
  EXPECT_THAT(moves_of(plan), IsEmpty()) << "of what only makes room nobody gains";
  EXPECT_THAT(plan.taints, IsEmpty());
  EXPECT_EQ(plan.strategies.at(0).nominated, 0);
  EXPECT_EQ(report_of(plan).freed, 0);
  EXPECT_EQ(report_of(plan).note, GetParam().note);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, CutTest,
    testing::Values(CutCase{"PerNamespace",
                            {{}, {}, 1},
                            "the plan of 2 moves that frees 1 nodes is not executed: limits.perCycle.perNamespace does "
                            "not allow default/quorum-1 to move with the others"},
                    CutCase{"PerNode",
                            {{}, 0, {}},
                            "the plan of 2 moves that frees 1 nodes is not executed: limits.perCycle.perNode does not "
                            "allow default/web-1 to move with the others"}),
    [](const auto& test) { return test.param.name; });

/// The cycle's time starts with the first offer.
TEST(DefragmentationLimits, ReportThatTheTimeOfTheCycleIsUsedUp) {
  PlanSettings settings;
  settings.options.time_limit = base::Duration{};
  settings.options.elapsed = [time = base::Duration{}]() mutable { return ++time; };
  const Plan plan = plan_of(fragmented(2), settings);
  EXPECT_THAT(moves_of(plan), IsEmpty());
  EXPECT_THAT(report_of(plan).note, testing::HasSubstr("is not executed: the time limit of the cycle does not allow "));
}

TEST(DefragmentationArgs, MinNodesFreedRefusesASmallerGain) {
  const Plan plan = plan_of(fragmented(2), {.args = R"({"minNodesFreed": 2})"});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(plan.taints, IsEmpty());
  EXPECT_EQ(report_of(plan).note, "1 nodes could be freed with 2 moves, minNodesFreed is 2");
}

TEST(DefragmentationArgs, MaxDisruptionPerWorkloadSparesPods) {
  ClusterBuilder cluster =
      three_nodes({web("a", "n1", 500), web("b", "n1", 500), web("c", "n2", 100).owned_by("ReplicaSet", "o")});
  cluster.add(web("d", "n3", 2000).bare());
  EXPECT_EQ(report_of(plan_of(cluster)).freed, 2);
  EXPECT_EQ(report_of(plan_of(cluster, {.args = R"({"maxDisruptionPerWorkload": 1})"})).freed, 1);
}

TEST(DefragmentationArgs, NodeSelectorLeavesOtherNodesAsTheyAre) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").label("pool", "a")).add(NodeBuilder("n2").label("pool", "b"));
  cluster.add(web("a", "n1", 500)).add(web("b", "n2", 100));
  const Plan plan = plan_of(cluster, {.args = R"({"nodeSelector": {"matchLabels": {"pool": "a"}}})"});
  EXPECT_THAT(moves_of(plan), ElementsAre("1: a n1 > n2"));
}

TEST(DefragmentationArgs, EmptyFirstOrdersByPrice) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").label("price", "9.5")).add(NodeBuilder("n2").label("price", "10"));
  cluster.add(web("a", "n1", 100)).add(web("b", "n2", 200));
  EXPECT_THAT(moves_of(plan_of(cluster, {.args = R"({"emptyFirst": [{"label": "price"}]})"})),
              ElementsAre("1: b n2 > n1"));
  EXPECT_THAT(moves_of(plan_of(cluster, {.args = R"({"emptyFirst": [{"label": "price", "order": "LowestFirst"}]})"})),
              ElementsAre("1: a n1 > n2"));
}

TEST(DefragmentationArgs, HeadroomStaysFree) {
  const ClusterBuilder cluster = three_nodes({web("a", "n1", 2000), web("b", "n2", 1900)});
  EXPECT_THAT(plan_of(cluster).moves, SizeIs(1));
  EXPECT_THAT(plan_of(cluster, {.args = R"({"headroom": {"cpu": 10}})"}).moves, IsEmpty());
}

TEST(DefragmentationArgs, ANodeThatCostsTooManyMovesStays) {
  ClusterBuilder cluster = three_nodes({web("a", "n1", 100), web("b", "n1", 100), web("c", "n1", 100)});
  cluster.add(web("d", "n2", 2000).bare());
  EXPECT_THAT(plan_of(cluster, {.args = R"({"weights": {"nodeFreed": 4, "move": 1}})"}).moves, SizeIs(3));
  EXPECT_THAT(plan_of(cluster, {.args = R"({"weights": {"nodeFreed": 3, "move": 1}})"}).moves, IsEmpty());
}

TEST(DefragmentationArgs, AnAbsurdWeightIsRefused) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", R"({"weights": {"nodeFreed": 1e308}})"});
  const PlanSpec spec(policy);
  ASSERT_THAT(spec.strategy_specs.errors, SizeIs(1));
}

TEST(DefragmentationArgs, ACancelledSearchMovesNothing) {
  const Plan plan = plan_of(fragmented(3), {.options = {.taint_value = "p", .is_cancelled = [] { return true; }}});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_NE(plan.strategies.at(0).problem, "") << "that is not the same as nothing to move";
}

/// Three nodes can be freed.
ClusterBuilder thrice_full() {
  ClusterBuilder cluster = fragmented(6);
  for (const std::string node : {"full-2", "full-3"}) {
    cluster.add(NodeBuilder(node));
    for (const char* name : {"-1", "-2", "-3", "-4"}) cluster.add(web(node + name, node));
  }
  return cluster;
}

TEST(DefragmentationArgs, ATimeoutInTheFirstAttemptLeavesASmallPlan) {
  int unfinished = 0;
  for (int looks = 1; looks < 60; ++looks) {  // Number of clock readings before the clock advances by an hour
    const auto tick = [left = looks]() mutable { return left-- > 0 ? base::Duration{} : base::minutes(60); };
    const Plan plan = plan_of(thrice_full(), {.options = {.spend_pdbs = false, .taint_value = "p", .elapsed = tick}});
    SCOPED_TRACE(looks);
    EXPECT_GT(report_of(plan).freed, 0);
    if (report_of(plan).freed == report_of(plan).bound) continue;
    ++unfinished;
    EXPECT_THAT(report_of(plan).note, testing::HasSubstr("timeBudget expired"));
  }
  EXPECT_GT(unfinished, 0);
}

TEST(DefragmentationArgs, ATimeoutBeforeTheFirstPlanIsAnError) {
  const auto late = [looks = 0]() mutable { return looks++ == 0 ? base::Duration{} : base::minutes(60); };
  const Plan plan =
      plan_of(thrice_full(), {.args = R"({"minNodesFreed": 8})", .options = {.taint_value = "p", .elapsed = late}});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(plan.strategies.at(0).problem, testing::HasSubstr("timeBudget expired"));
}

TEST(DefragmentationArgs, AProfitableMoveIsMadeEvenIfTheLargestPlanIsNotProfitable) {
  // n1 can be emptied with one move. The pod of n2 requires three other moves first, each to another node.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(web("light", "n1", 100));
  cluster.add(NodeBuilder("n2").label("pool", "b")).add(web("heavy", "n2", 3000).with([](api::Pod& pod) {
    pod.node_selector = {{"pool", "b"}};
  }));
  cluster.add(NodeBuilder("n3").label("pool", "b"));
  for (const char* name : {"x-1", "x-2", "x-3"}) cluster.add(web(name, "n3", 1000));
  cluster.add(web("keep-3", "n3", 500).bare());
  cluster.add(NodeBuilder("n4")).add(web("keep-4", "n4", 100).bare());
  const Plan plan = plan_of(cluster, {.args = R"({"weights": {"nodeFreed": 2, "move": 1}})",
                                      .options = {.spend_pdbs = false, .placement_hints = true}});
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_THAT(plan.moves, SizeIs(1));
}

TEST(DefragmentationArgs, TheSearchEndsWithItsTime) {
  base::Duration now{};
  const auto tick = [&] { return now += base::milliseconds(1); };
  const Plan plan =
      plan_of(fragmented(9), {.args = R"({"timeBudget": "100ms"})", .options = {.taint_value = "p", .elapsed = tick}});
  EXPECT_LT(now, base::seconds(2));
  EXPECT_GT(report_of(plan).freed, 0) << "what was found by then";
}

}  // namespace defragmentation_arguments_test
}  // namespace planner
