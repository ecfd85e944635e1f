/// LowNodeUtilization by measured load, compatibility None.

#include "planner/strategies/load/level_load.hpp"

#include <gmock/gmock.h>

#include "test/builders/measured.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace level_load_test {

using builders::ClusterBuilder;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kStatic =
    R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";

/// Nodes n1 with p1, p2 and p3, n2 and n3 without pods. Requests are small, so that only the measured load matters.
ClusterBuilder three_nodes() {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  for (const char* name : {"p1", "p2", "p3"}) builder.add(PodBuilder(name).on("n1").cpu(10));
  return builder;
}

/// n1 uses 3200m of 4000m (80 %): p1 400m, p2 800m, p3 2000m. The band is 20 … 60 %, so moves end at 50 %.
Measured usage() {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {400}).node("n3", {800});
  return measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
}

StrategyRun run(const ClusterBuilder& cluster, const Measured& measured, const std::string& args = kStatic) {
  StrategyRun run(cluster);
  run.measured = {measured.share()};
  run.run("LowNodeUtilization", args);
  return run;
}

TEST(LevelLoad, TakesThePodThatClosesMostOfTheGapWithoutOvershooting) {
  const auto done = run(three_nodes(), usage());
  EXPECT_THAT(done.sink.accepted, ElementsAre("p2", "p1")) << "30 % above: 20 % and 10 %, not 50 %";
  EXPECT_EQ(done.sink.reasons.at("p2"), "its node is overutilized: measured cpu 80.0 %, target 60 %");
}

TEST(LevelLoad, PrefersTheCheaperOfEqualPods) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {0}).node("n3", {0}).pod("p1", {1000}).pod("p2", {1000}).pod("p3", {1000});
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  cluster.add(PodBuilder("p1").on("n1").cpu(10).label("kubevirt.io", "virt-launcher"));
  cluster.add(PodBuilder("p2").on("n1").cpu(10).priority(1000));
  cluster.add(PodBuilder("p3").on("n1").cpu(10));
  EXPECT_EQ(run(cluster, measured).sink.accepted.front(), "p3");
}

TEST(LevelLoad, PrefersThePodWithALastingEffect) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {0}).node("n3", {0}).pod("p1", {800}).pod("p2", {900}).pod("p3", {200});
  EXPECT_EQ(run(three_nodes(), measured).sink.accepted.front(), "p2") << "nobody keeps means";
  measured.means({1000, 100, scheduling::kUnknownUsage});
  EXPECT_EQ(run(three_nodes(), measured).sink.accepted.front(), "p1") << "p2 uses little but now";
}

TEST(LevelLoad, UsesTheCurrentLoadIfNoMeanIsKnown) {
  constexpr auto kNone = scheduling::kUnknownUsage;
  EXPECT_THAT(run(three_nodes(), usage().means({kNone, kNone, kNone})).sink.accepted, ElementsAre("p2", "p1"));
}

TEST(LevelLoad, OvershootsOnlyIfNoOtherPodCanLeave) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {2600}).node("n2", {0}).node("n3", {0}).pod("p3", {1600});
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3")).add(PodBuilder("p3").on("n1").cpu(10));
  EXPECT_THAT(run(cluster, measured).sink.accepted, ElementsAre("p3")) << "65 % and 0 % become 25 % and 40 %";
}

TEST(LevelLoad, KeepsDestinationsAtTheLevel) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {1900}).node("n3", {1900});
  measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
  const auto done = run(three_nodes(), measured);
  EXPECT_THAT(done.sink.accepted, IsEmpty()) << "48 % and 10 % are above 50 %";
  EXPECT_EQ(done.sink.refusals.at("p1"), "NoDestinationHasCapacity");
}

TEST(LevelLoad, NeverTreatsAnUnknownNodeAsEmpty) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {0}).problem("the sample is 7m old").most_unknown(70);
  measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
  EXPECT_THAT(run(three_nodes(), measured).sink.accepted, IsEmpty());
}

TEST(LevelLoad, ContinuesWithoutOneBadNode) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {0}).node("n3", {0}).problem("NaN").most_unknown(34);
  measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
  const auto done = run(three_nodes(), measured);
  EXPECT_TRUE(done.status.ok());
  EXPECT_THAT(done.sink.accepted, Not(IsEmpty()));
}

TEST(LevelLoad, StopsAboveTheShareOfBadNodesAndNamesThem) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {0}).problem("the sample is 7m old");
  const auto done = run(three_nodes(), measured);
  EXPECT_THAT(done.sink.offered, IsEmpty());
  ASSERT_FALSE(done.status.ok());
  EXPECT_EQ(done.status.error().message,
            "usage source s: 2 of 3 nodes have no usable sample, the maximum is 30 %: n2 (the sample is 7m old), n3 "
            "(no sample)");
}

TEST(LevelLoad, FailsWithTheSourcesProblem) {
  Measured measured = usage();
  const auto done = run(three_nodes(), measured.unusable("no answer: timeout"));
  ASSERT_FALSE(done.status.ok());
  EXPECT_EQ(done.status.error().message, "usage source s: no answer: timeout");
}

TEST(LevelLoad, FailsIfAResourceIsNotMeasured) {
  const auto done =
      run(three_nodes(), usage(), R"({"thresholds":{"psi":20},"targetThresholds":{"psi":60},"usage":{"source":"s"}})");
  ASSERT_FALSE(done.status.ok());
  EXPECT_EQ(done.status.error().message, "usage source s does not measure psi");
}

constexpr auto kHysteresis =
    R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},"usage":{"source":"s","hysteresis":{"samples":3,"of":5}}})";

struct HysteresisCase {
  const char* name;
  std::vector<std::int64_t> samples;  ///< Samples of n1, oldest first. More than 2400 is above 60 %.
  bool moves;
};
class Hysteresis : public testing::TestWithParam<HysteresisCase> {};

TEST_P(Hysteresis, WaitsForEnoughSamples) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).samples(GetParam().samples).node("n2", {0}).node("n3", {0});
  measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
  EXPECT_EQ(!run(three_nodes(), measured, kHysteresis).sink.accepted.empty(), GetParam().moves);
}

INSTANTIATE_TEST_SUITE_P(Of, Hysteresis,
                         testing::Values(HysteresisCase{"AllSayIt", {3200, 3200, 3200, 3200, 3200}, true},
                                         HysteresisCase{"ThreeSayIt", {0, 3200, 0, 3200, 3200}, true},
                                         HysteresisCase{"TwoSayIt", {0, 0, 3200, 0, 3200}, false},
                                         HysteresisCase{"TheNewestDoesNot", {3200, 3200, 3200, 3200, 100}, false},
                                         HysteresisCase{"UnknownOnesSayNothing", {-1, -1, -1, 3200, 3200}, false},
                                         HysteresisCase{
                                             "OnlyTheLastFiveCount", {3200, 3200, 0, 0, 0, 3200, 3200}, false},
                                         HysteresisCase{"NoneAreKept", {}, true}),
                         [](const auto& test) { return test.param.name; });

TEST(LevelLoad, ActsBeforeTheForecastPeak) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {2000}).foreseen({3200}).node("n2", {0}).node("n3", {0});
  measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
  EXPECT_THAT(run(three_nodes(), measured, kHysteresis).sink.accepted, Not(IsEmpty()));
  constexpr auto kNow =
      R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},"usage":{"source":"s","forecast":false}})";
  EXPECT_THAT(run(three_nodes(), measured, kNow).sink.accepted, IsEmpty());
}

TEST(LevelLoad, FillsNoNodeWithAForecastOfFull) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {0}).foreseen({3000}).node("n3", {0}).foreseen({3000});
  measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
  EXPECT_THAT(run(three_nodes(), measured).sink.accepted, IsEmpty());
}

/// Forecasts for three nodes with equal load. -1 if no forecast is trusted.
struct ForeseenCase {
  const char* name;
  std::vector<std::int64_t> foreseen;  ///< Forecasts of n1, n2 and n3 in thousandths
  bool moves_by_deviation;             ///< Whether pods leave n1 with deviation thresholds
};

class Forecasts : public testing::TestWithParam<ForeseenCase> {};

TEST_P(Forecasts, CountsInDeviationsUnlessCommonToAllNodes) {
  Measured measured("s", {"cpu"});
  for (int i = 0; i < 3; ++i) {
    measured.node("n" + std::to_string(i + 1), {1600});
    if (const auto peak = GetParam().foreseen.at(static_cast<std::size_t>(i)); peak >= 0) measured.foreseen({peak});
  }
  measured.pod("p1", {200}).pod("p2", {200}).pod("p3", {200});
  constexpr auto kDeviation = R"({"thresholds":{"cpu":5},"targetThresholds":{"cpu":5},
    "useDeviationThresholds":true,"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";
  EXPECT_EQ(!run(three_nodes(), measured, kDeviation).sink.accepted.empty(), GetParam().moves_by_deviation);
  constexpr auto kOfStatic = R"({"thresholds":{"cpu":45},"targetThresholds":{"cpu":60},
    "usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";
  EXPECT_EQ(!run(three_nodes(), measured, kOfStatic).sink.accepted.empty(),
            GetParam().foreseen[0] > 2400 && GetParam().foreseen[2] < 1800)
      << "static thresholds: above is above";
}

INSTANTIATE_TEST_SUITE_P(Of, Forecasts,
                         testing::Values(ForeseenCase{"AllRise", {2800, 2800, 2800}, false},
                                         ForeseenCase{"AllRiseAndOnesForecastIsNotTrusted", {2800, 2800, -1}, false},
                                         ForeseenCase{"OneRisesAndOthersDoNot", {2800, 1600, 1600}, true},
                                         ForeseenCase{"OneRisesMost", {3600, 2000, -1}, true},
                                         ForeseenCase{"NoneIsTrusted", {-1, -1, -1}, false},
                                         ForeseenCase{"AllFall", {800, 800, 800}, false}),
                         [](const auto& test) { return test.param.name; });

TEST(LevelLoad, CountsEarlierMovesOfTheSameCycle) {
  StrategyRun done(three_nodes());
  done.measured = {usage().share()};
  done.what_if().move(done.cluster().find_pod("default", "p3").value(), scheduling::kNoNode);
  EXPECT_THAT(done.run("LowNodeUtilization", kStatic).sink.accepted, IsEmpty()) << "80 % less 50 %";
}

TEST(LevelLoad, MeasuresDeviationsOverKnownNodesOnly) {
  Measured measured("s", {"cpu"});
  // Mean of n1 and n2 40 %, band 30 … 50 %, level 45 %. With n3 as 0 % the mean would be 27 %.
  measured.node("n1", {1960}).node("n2", {1240}).node("n3", {0}).problem("stale").most_unknown(50);
  measured.pod("p1", {200}).pod("p2", {200}).pod("p3", {200});
  EXPECT_THAT(run(three_nodes(), measured, R"({"thresholds":{"cpu":10},"targetThresholds":{"cpu":10},
    "useDeviationThresholds":true,"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})")
                  .sink.accepted,
              IsEmpty());
}

constexpr auto kPools = R"({"usage":{"source":"s","hysteresis":{"samples":1,"of":1}},"nodePools":[
  {"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"thresholds":{"cpu":20},"targetThresholds":{"cpu":60}},
  {"name":"b","nodeSelector":{"matchLabels":{"pool":"b"}},"thresholds":{"cpu":20},"targetThresholds":{"cpu":90}}]})";

ClusterBuilder pools_of(const char* n1, const char* n2, const char* n3) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").label("pool", n1)).add(NodeBuilder("n2").label("pool", n2));
  builder.add(NodeBuilder("n3").label("pool", n3));
  for (const char* name : {"p1", "p2", "p3"}) builder.add(PodBuilder(name).on("n1").cpu(10));
  return builder;
}

TEST(LevelLoad, BalancesEachPoolSeparately) {
  EXPECT_THAT(run(pools_of("a", "b", "b"), usage(), kPools).sink.accepted, IsEmpty()) << "no other node in a";
  EXPECT_THAT(run(pools_of("a", "a", "b"), usage(), kPools).sink.accepted, ElementsAre("p2", "p1"));
  EXPECT_THAT(run(pools_of("b", "b", "b"), usage(), kPools).sink.accepted, IsEmpty()) << "80 % is below 90 %";
  EXPECT_THAT(run(pools_of("c", "c", "c"), usage(), kPools).sink.accepted, IsEmpty()) << "in no pool";
}

TEST(LevelLoad, UsesRequestsInPoolsToo) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").label("pool", "a")).add(NodeBuilder("n2").label("pool", "a"));
  for (int i = 1; i <= 8; ++i) cluster.add(PodBuilder("p" + std::to_string(i)).on("n1").cpu(400));
  StrategyRun done(cluster);
  done.run("LowNodeUtilization", R"({"nodePools":[{"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},
    "thresholds":{"cpu":20},"targetThresholds":{"cpu":60}}]})");
  EXPECT_THAT(done.sink.accepted, ElementsAre("p1", "p2"));
}

TEST(LevelLoad, EstimatesPodsByRequestsIfTheSourceHasOnlyNodes) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3200}).node("n2", {0}).node("n3", {0});
  EXPECT_THAT(run(three_nodes(), measured).sink.accepted, ElementsAre("p1")) << "a third of 80 % each, 30 % to go";
}

TEST(LevelLoad, SupportsUpstreamMetricsArgumentsWithoutUpstreamsBugs) {
  Measured measured("KubernetesMetrics", {"cpu"});
  measured.node("n1", {3200}).node("n2", {400}).node("n3", {0}).problem("stale").most_unknown(50);
  measured.pod("p1", {400}).pod("p2", {800}).pod("p3", {2000});
  constexpr auto kMetrics = R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60},
    "metricsUtilization":{"source":"KubernetesMetrics"}})";
  EXPECT_THAT(run(three_nodes(), measured, kMetrics).sink.accepted, ElementsAre("p2", "p1"));
  StrategyRun upstream(three_nodes());
  upstream.compatibility = api::Compatibility::kUpstream;
  upstream.measured = {measured.share()};
  EXPECT_FALSE(upstream.run("LowNodeUtilization", kMetrics).status.ok()) << "one bad node fails it";
}

}  // namespace level_load_test
}  // namespace strategies
