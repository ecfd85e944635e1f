/// Nodes that LowNodeUtilization and TargetLoadPacking ask the scheduler to avoid.

#include "planner/strategies/load/loaded_nodes.hpp"

#include <gmock/gmock.h>

#include "test/builders/measured.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace loaded_nodes_test {

using builders::ClusterBuilder;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr auto kArgs =
    R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},
        "usage":{"source":"s","hysteresis":{"samples":1,"of":1},"softTaint":true}})";

/// Cluster with the nodes "hot", "warm" and "cold". "hot" (80 % of 4000m) runs p1 to p4, which use 10 % and request 10m
/// each. The band is 20 … 60 %, so moves end at 50 % and the scheduler should fill nodes up to 30 %. The requests of
/// `warm` and `cold`, in millicores, determine the node that the scheduler fills first.
struct Stage {
  std::int64_t hot_asks = 10, warm_asks = 100, cold_asks = 1000;
  std::int64_t warm_uses = 1999;  ///< Just below 50 %: no free capacity
  std::vector<api::Taint> warm_bears = {};
  const char* args = kArgs;
  const char* strategy = "LowNodeUtilization";

  StrategyRun run(bool may = true) const {
    ClusterBuilder builder;
    auto warm = NodeBuilder("warm");
    for (const api::Taint& taint : warm_bears) warm.taint(taint.key, taint.effect);
    builder.add(NodeBuilder("hot")).add(warm).add(NodeBuilder("cold"));
    Measured measured("s", {"cpu"});
    measured.node("hot", {3200}).node("warm", {warm_uses}).node("cold", {400});
    for (const char* name : {"p1", "p2", "p3", "p4"}) {
      builder.add(PodBuilder(name).on("hot").cpu(hot_asks));
      measured.pod(name, {400});
    }
    builder.add(PodBuilder("w").on("warm").cpu(warm_asks)).add(PodBuilder("c").on("cold").cpu(cold_asks));
    StrategyRun run(builder);
    run.sink.may_avoid = may;
    run.measured = {measured.share()};
    run.run(strategy, args);
    return run;
  }
};

TEST(LoadedNodes, AvoidsTheSchedulersFavouriteIfItHasNoFreeCapacity) {
  EXPECT_THAT(Stage().run().sink.avoided, Contains("evacuator.dev/loaded warm"));
}

TEST(LoadedNodes, AvoidsNodesAboveTheLowestQuarterOfTheBand) {
  EXPECT_THAT((Stage{.hot_asks = 1000, .warm_uses = 1600}.run().sink.avoided), Contains("evacuator.dev/loaded warm"))
      << "a replacement helps more on cold";
  EXPECT_THAT((Stage{.hot_asks = 1000, .warm_uses = 1000}.run().sink.avoided), IsEmpty());
}

TEST(LoadedNodes, NeverAvoidsAnUnderutilizedNode) {
  EXPECT_THAT(Stage().run().sink.avoided, Not(Contains("evacuator.dev/loaded cold")));
  const auto all_cold = Stage{.warm_uses = 400}.run();
  EXPECT_THAT(all_cold.sink.avoided, Not(Contains("evacuator.dev/loaded warm")));
}

TEST(LoadedNodes, RemovesTheTaintFromANodeThatCooledDown) {
  const std::vector<api::Taint> taints = {{"evacuator.dev/loaded", "", api::TaintEffect::kPreferNoSchedule}};
  const auto cooled = Stage{.warm_asks = 3000, .warm_uses = 400, .warm_bears = taints}.run();
  EXPECT_THAT(cooled.sink.avoided, Not(Contains("evacuator.dev/loaded warm")));
}

TEST(LoadedNodes, KeepsATaintWithinTheBandSoThatItDoesNotFlap) {
  const std::vector<api::Taint> taints = {{"evacuator.dev/loaded", "", api::TaintEffect::kPreferNoSchedule}};
  const auto kept = Stage{.warm_asks = 3000, .warm_uses = 1200, .warm_bears = taints}.run();
  EXPECT_THAT(kept.sink.avoided, Contains("evacuator.dev/loaded warm"));
  const auto never = Stage{.warm_asks = 3000, .warm_uses = 1200}.run();
  EXPECT_THAT(never.sink.avoided, Not(Contains("evacuator.dev/loaded warm")));
}

TEST(LoadedNodes, AvoidsNoNodeIfNoNodeIsAboveTheBand) {
  Measured measured("s", {"cpu"});
  measured.node("a", {2000}).node("b", {1900});
  ClusterBuilder builder;
  builder.add(NodeBuilder("a")).add(NodeBuilder("b"));
  StrategyRun run(builder);
  run.measured = {measured.share()};
  run.run("LowNodeUtilization", kArgs);
  EXPECT_THAT(run.sink.avoided, IsEmpty());
}

TEST(LoadedNodes, AvoidsNoNodeUnlessRequested) {
  constexpr auto kWithout =
      R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";
  EXPECT_THAT(Stage{.args = kWithout}.run().sink.avoided, IsEmpty());
}

TEST(LoadedNodes, MovesPodsEvenIfItMayNotTaint) {
  const auto without = Stage().run(false);
  EXPECT_THAT(without.sink.avoided, IsEmpty());
  EXPECT_THAT(without.sink.accepted, Not(IsEmpty()));
}

TEST(LoadedNodes, AreAvoidedByTargetLoadPackingToo) {
  constexpr auto kPacking =
      R"({"target":{"cpu":50},"usage":{"source":"s","hysteresis":{"samples":1,"of":1},"softTaint":true}})";
  EXPECT_THAT((Stage{.args = kPacking, .strategy = "TargetLoadPacking"}.run().sink.avoided),
              Contains("evacuator.dev/loaded warm"));
}

TEST(LoadedNodes, AreNotSupportedByHighNodeUtilization) {
  constexpr auto kEmptying =
      R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},"usage":{"source":"s","softTaint":true}})";
  EXPECT_THROW((Stage{.args = kEmptying, .strategy = "HighNodeUtilization"}.run()), std::invalid_argument);
}

}  // namespace loaded_nodes_test
}  // namespace strategies
