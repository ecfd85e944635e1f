#include "planner/plan/balance/balance_meter.hpp"

#include <gmock/gmock.h>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/measured.hpp"

namespace planner {
namespace balance_meter_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kArgs = R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},
  "usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";

/// n1 uses 80 %, of which p1 uses 20 %. n2 uses 10 %.
Plan plan(double min_score, const std::string& args = kArgs, const char* strategy = "LowNodeUtilization",
          std::optional<std::int64_t> mean_of_p1 = std::nullopt) {
  const auto cluster =
      ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("p1").on("n1")).build();
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {400}).pod("p1", {800});
  if (mean_of_p1) measured.means({*mean_of_p1});
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{strategy, args}};
  spec.convergence.min_score = min_score;
  const PlanSpec plan_spec(spec);
  PlanInput input{.spec = plan_spec, .cluster = *cluster, .leaving = {}, .now = kNoon};
  input.usage = {measured.share()};
  return plan_cycle(input);
}

TEST(PlanBalance, ReportsTheImbalanceBeforeAndAfter) {
  const Plan got = plan(0);
  ASSERT_THAT(got.moves, SizeIs(1));
  ASSERT_THAT(got.balance, SizeIs(1));
  const api::BalanceRow& row = got.balance.front();
  EXPECT_EQ(row.strategy, "LowNodeUtilization");
  EXPECT_EQ(row.resource, "cpu");
  EXPECT_EQ(row.before, (api::Imbalance{35, 1.778})) << "80 and 10 %";
  EXPECT_EQ(row.after, (api::Imbalance{15, 1.333})) << "60 and 30 %";
}

TEST(PlanBalance, ScoresEachMove) {
  const Plan got = plan(0);
  ASSERT_THAT(got.moves, SizeIs(1));
  // 35² + 35² becomes 15² + 15²: a gain of 2000 points². A gain of 100 points² has half the maximum score. The pod
  // costs 1.
  EXPECT_EQ(got.moves.front().score, 95.2);
}

TEST(PlanBalance, ScoresAMoveByTheMeanUsage) {
  const auto score = [](std::int64_t mean) {
    const Plan got = plan(0, kArgs, "LowNodeUtilization", mean);
    return got.moves.empty() ? -1 : got.moves.front().score.value_or(-1);
  };
  EXPECT_EQ(score(800), 95.2) << "as it is now";
  EXPECT_EQ(score(scheduling::kUnknownUsage), 95.2);
  // Mean of n1 60 %, mean of the pod 0: a quarter of the 2000 points² remains.
  EXPECT_EQ(score(0), 83.3);
  // Mean of n1 80 % + 20 %, of n2 10 %, of the pod 40 %: 45² + 45² becomes 5² + 5², three quarters of 4000 points².
  EXPECT_EQ(score(1600), 97.2);
}

TEST(PlanBalance, RefusesMovesOfALowScore) {
  const Plan got = plan(96);
  EXPECT_THAT(got.moves, IsEmpty());
  EXPECT_THAT(got.refused, testing::Contains(testing::Field(&api::ReasonCount::reason, "ScoreTooLow")));
  ASSERT_THAT(got.balance, SizeIs(1));
  EXPECT_EQ(got.balance.front().after, got.balance.front().before);
}

TEST(PlanBalance, CountsOnlyWhatIsAboveTheTargetOfAPackingStrategy) {
  const Plan got =
      plan(0, R"({"target":{"cpu":60},"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})", "TargetLoadPacking");
  ASSERT_THAT(got.moves, SizeIs(1));
  ASSERT_THAT(got.balance, SizeIs(1));
  EXPECT_EQ(got.balance.front().before.deviation, 14.142) << "20 above, 0 above";
  EXPECT_EQ(got.balance.front().after.deviation, 0);
}

TEST(PlanBalance, HasNoRowsIfNothingIsMeasured) {
  const Plan got = plan(0, R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},"usage":{"source":"other"}})");
  EXPECT_THAT(got.balance, IsEmpty());
  EXPECT_EQ(got.strategies.front().problem, "usage source other: nothing is measured");
}

/// n1 uses 80 %, n2 has `pods` pods of 200m (5 %) each, n3 has only a DaemonSet pod (5 %).
Plan plan_emptying(int pods, double min_score = 0, const std::string& usage = "",
                   const char* strategy = "HighNodeUtilization",
                   const std::string& args = R"("thresholds":{"cpu":20})") {
  ClusterBuilder cluster;
  for (const char* name : {"n1", "n2", "n3"}) cluster.add(NodeBuilder(name));
  cluster.add(PodBuilder("full").on("n1").cpu(3200).owned_by("ReplicaSet", "full"));
  cluster.add(PodBuilder("d").on("n3").cpu(200).owned_by("DaemonSet", "d"));
  Measured measured("s", {"cpu"});
  measured.node("n1", {2000}).node("n2", {200 * pods}).node("n3", {200});
  for (int i = 0; i < pods; ++i) {
    const std::string name = "p" + std::to_string(i);
    cluster.add(PodBuilder(name).on("n2").cpu(200).owned_by("ReplicaSet", name));  // One owner each: no spread
    measured.pod(name, {200});
  }
  const auto snapshot = cluster.build();
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{strategy, "{" + args + usage + "}"}};
  spec.scheduler.scoring = api::ScoringStrategyType::kMostAllocated;
  spec.convergence.min_score = min_score;
  const PlanSpec plan_spec(spec);
  PlanInput input{.spec = plan_spec, .cluster = *snapshot, .leaving = {}, .now = kNoon};
  if (!usage.empty()) input.usage = {measured.share()};
  return plan_cycle(input);
}

TEST(PlanBalance, CountsTheUsageOfNodesToBeEmptied) {
  const Plan got = plan_emptying(2);
  ASSERT_THAT(got.moves, SizeIs(2)) << (got.refused.empty() ? "" : got.refused.front().reason);
  ASSERT_THAT(got.balance, SizeIs(1));
  const api::BalanceRow& row = got.balance.front();
  EXPECT_EQ(row.strategy, "HighNodeUtilization");
  EXPECT_EQ(row.before, (api::Imbalance{6.455, 2.526})) << "10 % and 5 % on three nodes";
  EXPECT_EQ(row.after, (api::Imbalance{2.887, 2.842})) << "what a DaemonSet has there stays";
}

TEST(PlanBalance, ScoresAFreedNodeByAllMovesThatItTakes) {
  const Plan one = plan_emptying(1);
  ASSERT_THAT(one.moves, SizeIs(1));
  EXPECT_EQ(one.moves.front().score, 80) << "a Burstable pod costs 1.25";
  const Plan two = plan_emptying(2);
  ASSERT_THAT(two.moves, SizeIs(2));
  EXPECT_EQ(two.moves[0].score, 40);
  EXPECT_EQ(two.moves[1].score, 40);
  EXPECT_THAT(plan_emptying(2, 40).moves, SizeIs(2));
  EXPECT_THAT(plan_emptying(2, 41).moves, IsEmpty()) << "all or none";
}

TEST(PlanBalance, CountsMeasuredLoadIfNodesAreEmptiedByIt) {
  const Plan got = plan_emptying(2, 0, R"(,"usage":{"source":"s","hysteresis":{"samples":1,"of":1}})");
  ASSERT_THAT(got.moves, SizeIs(2));
  ASSERT_THAT(got.balance, SizeIs(1));
  EXPECT_EQ(got.balance.front().before, (api::Imbalance{6.455, 2.308})) << "50, 10 and 5 %";
  EXPECT_EQ(got.balance.front().after.deviation, 2.887);
}

TEST(PlanBalance, CountsTheUsageOfNodesThatPackingEmpties) {
  const Plan got = plan_emptying(2, 0, R"(,"usage":{"source":"s","hysteresis":{"samples":1,"of":1}})",
                                 "TargetLoadPacking", R"("target":{"cpu":60})");
  ASSERT_THAT(got.moves, SizeIs(2)) << (got.refused.empty() ? "" : got.refused.front().reason);
  EXPECT_EQ(got.moves[0].to, "n1");
  EXPECT_EQ(got.moves[0].score, 40);
  ASSERT_THAT(got.balance, SizeIs(1));
  EXPECT_EQ(got.balance.front().before, (api::Imbalance{6.455, 2.308})) << "no node is above 60 %: 10 and 5 %";
  EXPECT_EQ(got.balance.front().after.deviation, 2.887);
}

/// All nodes have equal requests. n1 and n2 are hot, n3 is not.
Plan plan_among_equals(const char* owner) {
  ClusterBuilder cluster;
  for (const char* name : {"n1", "n2", "n3"}) cluster.add(NodeBuilder(name));
  cluster.add(PodBuilder("p1").on("n1").cpu(1000).owned_by(owner, "w"));
  for (const char* name : {"n2", "n3"})
    cluster.add(PodBuilder(std::string("d-") + name).on(name).cpu(1000).owned_by("DaemonSet", "d"));
  const auto snapshot = cluster.build();
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {3200}).node("n3", {400}).pod("p1", {800});
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"LowNodeUtilization", kArgs}};
  const PlanSpec plan_spec(spec);
  PlanInput input{.spec = plan_spec, .cluster = *snapshot, .leaving = {}, .now = kNoon};
  input.usage = {measured.share()};
  return plan_cycle(input);
}

TEST(PlanByLoad, NeedsAHelpfulNodeAmongTheSchedulersFavourites) {
  const Plan got = plan_among_equals("ReplicaSet");
  ASSERT_THAT(got.moves, SizeIs(1)) << "the old pod still holds its requests on n1";
  EXPECT_EQ(got.moves.front().to, "n3");
}

TEST(PlanByLoad, KeepsPodsThatWouldComeBack) {
  const Plan got = plan_among_equals("StatefulSet");
  EXPECT_THAT(got.moves, IsEmpty()) << "its replacement comes when n1 is free again";
  EXPECT_THAT(got.refused, testing::Contains(testing::Field(&api::ReasonCount::reason, "SchedulerDisagrees")));
}

TEST(PlanBalance, DoesNotScoreOtherStrategies) {
  const Plan got = plan(100, R"({"maxPodLifeTimeSeconds":60})", "PodLifeTime");
  ASSERT_THAT(got.moves, SizeIs(1));
  EXPECT_EQ(got.moves.front().score, std::nullopt);
  EXPECT_THAT(got.balance, IsEmpty());
}

}  // namespace balance_meter_test
}  // namespace planner
