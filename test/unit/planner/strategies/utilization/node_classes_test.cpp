/// Nodes that utilization strategies classify, the resources that they compare, and their reports.

#include "planner/strategies/utilization/node_classes.hpp"

#include <gmock/gmock.h>

#include "test/builders/measured.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace node_classes_test {

using builders::ClusterBuilder;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr auto kGpu = "gpu.example.com/a";
constexpr auto kByUsage = R"("usage":{"source":"s","hysteresis":{"samples":1,"of":1}})";

std::string args(const std::string& thresholds, const std::string& more = "") {
  return "{" + thresholds + (more.empty() ? "" : "," + more) + "}";
}

/// Returns rows such as "gpu-0 Overutilized", in the order of the report.
std::vector<std::string> rows(const StrategyRun& run) {
  std::vector<std::string> rows;
  if (!run.sink.classes) return rows;
  for (const api::ClassifiedNode& node : run.sink.classes->nodes)
    rows.push_back(node.node + " " + std::string(api::to_string(node.node_class)));
  return rows;
}

std::string reason_of(const StrategyRun& run, const std::string& node) {
  const auto& nodes = run.sink.classes->nodes;
  const auto at = std::ranges::find(nodes, node, &api::ClassifiedNode::node);
  return at == nodes.end() ? "no row" : at->reason;
}

StrategyRun run(const std::string& strategy, const ClusterBuilder& cluster, const std::string& args,
                const std::optional<Measured>& measured = {}, bool as_upstream = false) {
  StrategyRun run(cluster);
  if (measured) run.measured = {measured->share()};
  if (as_upstream) run.compatibility = api::Compatibility::kUpstream;
  run.run(strategy, args);
  return run;
}

// ---------------------------------------------------------------- resources that a node does not publish

/// gpu-0 uses 6 of 8 GPUs and half of its CPU. cpu-0 has no GPU and uses three quarters of its CPU.
ClusterBuilder mixed() {
  ClusterBuilder builder;
  builder.add(NodeBuilder("gpu-0").sized(16000, 64000, 110).offer(kGpu, 8));
  builder.add(NodeBuilder("cpu-0").sized(8000, 32000, 110));
  builder.add(PodBuilder("train").on("gpu-0").cpu(8000).request(kGpu, 6000));
  return builder.add(PodBuilder("web").on("cpu-0").cpu(3000)).add(PodBuilder("api").on("cpu-0").cpu(3000));
}

TEST(NodeScope, PackingEmptiesNoNodeForAResourceThatItDoesNotPublish) {
  const auto done = run("HighNodeUtilization", mixed(), R"({"thresholds":{"gpu.example.com/a":40}})");
  EXPECT_THAT(done.sink.accepted, IsEmpty());
  EXPECT_THAT(rows(done), ElementsAre("gpu-0 Appropriate", "cpu-0 OutOfScope"));
  EXPECT_EQ(reason_of(done, "cpu-0"), "without gpu.example.com/a, which it does not publish");
  EXPECT_EQ(done.sink.classes->note, "no node is underutilized");
}

TEST(NodeScope, PackingEmptiesItForUpstream) {
  EXPECT_THAT(run("HighNodeUtilization", mixed(), R"({"thresholds":{"gpu.example.com/a":40}})", {}, true).sink.accepted,
              UnorderedElementsAre("web", "api"));
}

TEST(NodeScope, NodesOutOfScopeTakePodsOfNodesThatAreEmptied) {
  ClusterBuilder cluster = mixed();
  cluster.add(NodeBuilder("gpu-1").sized(16000, 64000, 110).offer(kGpu, 8));
  cluster.add(PodBuilder("idle").on("gpu-1").cpu(1000));
  EXPECT_THAT(run("HighNodeUtilization", cluster, R"({"thresholds":{"gpu.example.com/a":40}})").sink.accepted,
              ElementsAre("idle"));
}

TEST(NodeScope, LevelingIgnoresResourcesThatANodeDoesNotPublish) {
  const std::string by_gpu = R"("thresholds":{"gpu.example.com/a":20},"targetThresholds":{"gpu.example.com/a":50})";
  const auto done = run("LowNodeUtilization", mixed(), args(by_gpu));
  EXPECT_THAT(done.sink.accepted, IsEmpty());
  EXPECT_THAT(rows(done), ElementsAre("gpu-0 Overutilized", "cpu-0 OutOfScope"));
  EXPECT_EQ(done.sink.classes->note, "no node is underutilized");
  EXPECT_EQ(reason_of(done, "gpu-0"), "gpu.example.com/a 75.0 % of allocatable, above targetThresholds 50 %");
}

/// With several resources, each node is classified by the resources that it publishes.
TEST(NodeScope, LevelingJudgesANodeByTheRestOfTheResources) {
  ClusterBuilder cluster = mixed();
  cluster.add(NodeBuilder("cpu-1").sized(8000, 32000, 110));
  const auto done = run("LowNodeUtilization", cluster,
                        R"({"thresholds":{"cpu":20,"gpu.example.com/a":20},
                            "targetThresholds":{"cpu":60,"gpu.example.com/a":90}})");
  EXPECT_THAT(done.sink.accepted, ElementsAre("api")) << "cpu-0 is over by CPU, cpu-1 under by CPU";
  EXPECT_EQ(
      reason_of(done, "cpu-1"),
      "cpu 0.0 % of allocatable, not above thresholds 20 %; without gpu.example.com/a, which it does not publish");
}

/// A removed device plugin leaves a value of 0.
TEST(NodeScope, ZeroOfAResourceCountsAsNotPublished) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").offer(kGpu, 0)).add(NodeBuilder("n2").offer(kGpu, 8));
  cluster.add(PodBuilder("p").on("n1").cpu(100)).add(PodBuilder("q").on("n2").request(kGpu, 4000));
  EXPECT_THAT(run("HighNodeUtilization", cluster, R"({"thresholds":{"gpu.example.com/a":40}})").sink.accepted,
              IsEmpty());
}

TEST(NodeScope, TheMeanOfDeviationsIsOfNodesThatPublish) {
  ClusterBuilder cluster;
  for (const char* name : {"g1", "g2"}) cluster.add(NodeBuilder(name).offer(kGpu, 8));
  for (const char* name : {"c1", "c2", "c3"}) cluster.add(NodeBuilder(name).offer(kGpu, 0));
  cluster.add(PodBuilder("a").on("g1").request(kGpu, 4000)).add(PodBuilder("b").on("g2").request(kGpu, 4000));
  const auto done = run("LowNodeUtilization", cluster,
                        R"({"thresholds":{"gpu.example.com/a":10},"targetThresholds":{"gpu.example.com/a":10},
                            "useDeviationThresholds":true})");
  EXPECT_THAT(done.sink.accepted, IsEmpty()) << "both are at the mean of 50 %, which nodes without GPUs do not lower";
  EXPECT_EQ(done.sink.classes->out_of_scope, 3);
}

TEST(NodeScope, ReportsThatNoNodePublishesTheResource) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("p").on("n1").cpu(100));
  const auto done = run("HighNodeUtilization", cluster, R"({"thresholds":{"gpu.example.com/a":40}})");
  EXPECT_EQ(done.sink.classes->note, "no node publishes a resource that has thresholds");
}

/// Measured cpu of all nodes, measured gpu of the nodes that have GPUs.
Measured mixed_usage() {
  Measured measured("s", {"cpu", kGpu});
  constexpr auto kNone = scheduling::kUnknownUsage;
  measured.node("cpu-0", {7000, kNone}).node("cpu-1", {400, kNone}).node("gpu-0", {4000, 6000});
  return measured.pod("api", {3000, 0}).pod("train", {4000, 6000}).pod("web", {3000, kNone});
}

TEST(NodeScope, MeasuredLoadIsClassifiedByPublishedResources) {
  ClusterBuilder cluster = mixed();
  cluster.add(NodeBuilder("cpu-1").sized(8000, 32000, 110));
  const auto done = run("LowNodeUtilization", cluster,
                        args(R"("thresholds":{"cpu":20,"gpu.example.com/a":20},
                                "targetThresholds":{"cpu":60,"gpu.example.com/a":90})",
                             kByUsage),
                        mixed_usage());
  ASSERT_TRUE(done.status) << done.status.error().message;
  EXPECT_THAT(done.sink.accepted, UnorderedElementsAre("api")) << "cpu-0 is at 87.5 %, and a pod of 37.5 % goes";
  EXPECT_EQ(done.sink.classes->unknown, 0);
}

TEST(NodeScope, MeasuredPackingEmptiesNoNodeWithoutTheResource) {
  const auto done =
      run("HighNodeUtilization", mixed(), args(R"("thresholds":{"gpu.example.com/a":40})", kByUsage), mixed_usage());
  ASSERT_TRUE(done.status) << done.status.error().message;
  EXPECT_THAT(done.sink.accepted, IsEmpty());
  EXPECT_THAT(rows(done), ElementsAre("gpu-0 Appropriate", "cpu-0 OutOfScope"));
}

// ---------------------------------------------------------------- terminating pods

/// n1 runs four pods of 900m, two of which terminate. n2 is empty.
ClusterBuilder leaving(const std::string& node = "n1") {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (const char* name : {"p1", "p2"}) builder.add(PodBuilder(name).on("n1").cpu(900));
  for (const char* name : {"t1", "t2"}) builder.add(PodBuilder(name).on(node).cpu(900).terminating());
  return builder;
}

constexpr auto kLevel = R"("thresholds":{"cpu":20},"targetThresholds":{"cpu":40})";

TEST(LeavingPods, DoNotCountOnOverutilizedNodes) {
  const std::string above = R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":50}})";
  EXPECT_THAT(run("LowNodeUtilization", leaving(), above).sink.accepted, IsEmpty()) << "45 % once they are gone";
  EXPECT_THAT(run("LowNodeUtilization", leaving(), above, {}, true).sink.accepted, ElementsAre("p1", "p2"));
}

TEST(LeavingPods, CountOnDestinations) {
  EXPECT_THAT(run("LowNodeUtilization", leaving(), args(kLevel)).sink.accepted, ElementsAre("p1"));
  EXPECT_THAT(run("LowNodeUtilization", leaving("n2"), args(kLevel)).sink.accepted, IsEmpty()) << "n2 is not free yet";
}

TEST(LeavingPods, CountBothWaysByMeasuredLoad) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {3600}).node("n2", {0});
  for (const char* name : {"p1", "p2", "t1", "t2"}) measured.pod(name, {900});
  const std::string above = args(R"("thresholds":{"cpu":20},"targetThresholds":{"cpu":50})", kByUsage);
  EXPECT_THAT(run("LowNodeUtilization", leaving(), above, measured).sink.accepted, IsEmpty());
  Measured there("s", {"cpu"});
  there.node("n1", {1800}).node("n2", {1800});
  for (const char* name : {"p1", "p2", "t1", "t2"}) there.pod(name, {900});
  EXPECT_THAT(run("LowNodeUtilization", leaving("n2"), args(kLevel, kByUsage), there).sink.accepted, IsEmpty());
}

/// On n1, p terminates and q stays. n2 is full enough to stay.
ClusterBuilder nearly_empty() {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  builder.add(PodBuilder("p").on("n1").cpu(2000).terminating()).add(PodBuilder("q").on("n1").cpu(400));
  return builder.add(PodBuilder("r").on("n2").cpu(2000));
}

TEST(LeavingPods, DoNotKeepANodeFromBeingEmptied) {
  EXPECT_THAT(run("HighNodeUtilization", nearly_empty(), R"({"thresholds":{"cpu":20}})").sink.accepted,
              ElementsAre("q"));
  Measured measured("s", {"cpu"});
  measured.node("n1", {2400}).node("n2", {2000}).pod("p", {2000}).pod("q", {400}).pod("r", {2000});
  EXPECT_THAT(
      run("HighNodeUtilization", nearly_empty(), args(R"("thresholds":{"cpu":20})", kByUsage), measured).sink.accepted,
      ElementsAre("q"));
}

// ---------------------------------------------------------------- DaemonSets

/// A DaemonSet uses 55 % of each node. n1 and n2 run little else.
ClusterBuilder agents() {
  ClusterBuilder builder;
  for (const char* node : {"n1", "n2", "n3"}) {
    builder.add(NodeBuilder(node));
    builder.add(PodBuilder(std::string("agent-") + node).on(node).cpu(2200).owned_by("DaemonSet", "agent"));
  }
  builder.add(PodBuilder("a").on("n1").cpu(100)).add(PodBuilder("b").on("n2").cpu(200));
  return builder.add(PodBuilder("c").on("n3").cpu(1000));
}

TEST(DaemonSets, CountUnlessIgnored) {
  const auto counted = run("HighNodeUtilization", agents(), R"({"thresholds":{"cpu":20}})");
  EXPECT_THAT(counted.sink.accepted, IsEmpty());
  EXPECT_EQ(counted.sink.classes->note,
            "no node is underutilized; 2 more would be underutilized without DaemonSet pods (ignoreDaemonSets)");
  const auto ignored = run("HighNodeUtilization", agents(), R"({"thresholds":{"cpu":20},"ignoreDaemonSets":true})");
  EXPECT_THAT(ignored.sink.accepted, ElementsAre("a", "b"));
  EXPECT_THAT(reason_of(ignored, "n1"),
              HasSubstr("cpu 2.5 % of allocatable, not above thresholds 20 % (all pods: cpu "));
}

TEST(DaemonSets, AreIgnoredInMeasuredLoadToo) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {2300}).node("n2", {2400}).node("n3", {3000});
  measured.pod("a", {100});
  for (const char* node : {"n1", "n2", "n3"}) measured.pod(std::string("agent-") + node, {2200});
  measured.pod("b", {200}).pod("c", {800});
  const std::string thresholds = R"("thresholds":{"cpu":20},"targetThresholds":{"cpu":95},)";
  EXPECT_THAT(run("HighNodeUtilization", agents(), args(thresholds + R"("ignoreDaemonSets":false)", kByUsage), measured)
                  .sink.accepted,
              IsEmpty());
  EXPECT_THAT(run("HighNodeUtilization", agents(), args(thresholds + R"("ignoreDaemonSets":true)", kByUsage), measured)
                  .sink.accepted,
              ElementsAre("a", "b"));
}

// ---------------------------------------------------------------- reasons why nothing is moved

struct IdleCase {
  const char* name;
  const char* strategy;
  ClusterBuilder cluster;
  const char* args;
  const char* note;
};

ClusterBuilder two(std::int64_t n1, std::int64_t n2, bool is_cordoned = false) {
  ClusterBuilder builder;
  NodeBuilder second("n2");
  if (is_cordoned) second.cordoned();
  builder.add(NodeBuilder("n1")).add(second);
  if (n1 > 0) builder.add(PodBuilder("p").on("n1").cpu(n1));
  if (n2 > 0) builder.add(PodBuilder("q").on("n2").cpu(n2));
  return builder;
}

constexpr auto kBand = R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":50}})";

class Idle : public testing::TestWithParam<IdleCase> {};

TEST_P(Idle, IsExplained) {
  const auto done = run(GetParam().strategy, GetParam().cluster, GetParam().args);
  EXPECT_THAT(done.sink.accepted, IsEmpty());
  ASSERT_TRUE(done.sink.classes);
  EXPECT_EQ(done.sink.classes->note, GetParam().note);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, Idle,
    testing::Values(IdleCase{"NoneIsUnder", "LowNodeUtilization", two(3000, 1000), kBand, "no node is underutilized"},
                    IdleCase{"TheOnlyOneIsCordoned", "LowNodeUtilization", two(3000, 0, true), kBand,
                             "no node is underutilized except cordoned nodes, which accept no pods: n2"},
                    IdleCase{"NoneIsOver", "LowNodeUtilization", two(1000, 0), kBand, "no node is overutilized"},
                    IdleCase{"AllAreUnder", "LowNodeUtilization", two(100, 100), kBand, "all nodes are underutilized"},
                    IdleCase{"TooFewAreUnder", "LowNodeUtilization", two(3000, 0),
                             R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":50},"numberOfNodes":1})",
                             "1 node is underutilized, and numberOfNodes requires more than 1"},
                    IdleCase{"NoneIsToBeEmptied", "HighNodeUtilization", two(3000, 1000),
                             R"({"thresholds":{"cpu":20}})", "no node is underutilized"},
                    IdleCase{"TooFewAreToBeEmptied", "HighNodeUtilization", two(3000, 100),
                             R"({"thresholds":{"cpu":20},"numberOfNodes":2})",
                             "1 node is underutilized, and numberOfNodes requires more than 2"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Idle, PackingForUpstreamReportsTheReasonToo) {
  const auto note = [](const ClusterBuilder& cluster) {
    const auto done = run("HighNodeUtilization", cluster, R"({"thresholds":{"cpu":20}})", {}, true);
    EXPECT_THAT(done.sink.accepted, IsEmpty());
    return done.sink.classes ? done.sink.classes->note : "none";
  };
  EXPECT_EQ(note(two(100, 100)), "all nodes are underutilized, and in this case compatibility Upstream moves nothing");
  EXPECT_EQ(note(two(100, 3000, true)), "every node that is not underutilized is cordoned and accepts no pods");
}

TEST(Idle, MeasuredStrategiesReportIt) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {1000}).node("n2", {0}).pod("p", {1000});
  const auto done = run("LowNodeUtilization", two(1000, 0), args(kLevel, kByUsage), measured);
  EXPECT_EQ(done.sink.classes->note, "no node is overutilized");
  EXPECT_EQ(reason_of(done, "n1"), "measured cpu 25.0 %, above thresholds 20 %");
}

TEST(NodeClasses, ReportPodsWithTheMaximumNumber) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").sized(4000, 4000, 110)).add(NodeBuilder("n2").sized(4000, 4000, 110));
  for (int i = 0; i < 13; ++i) builder.add(PodBuilder("p" + std::to_string(i)).on("n1").cpu(1));
  const auto done = run("LowNodeUtilization", builder, R"({"thresholds":{"pods":1},"targetThresholds":{"pods":50}})");
  EXPECT_EQ(reason_of(done, "n1"), "pods 13 of 110 (11.8 %), above thresholds 1 %");
}

TEST(NodeClasses, AreSummarized) {
  api::NodeClasses classes;
  classes.over = 1;
  classes.under = 2;
  classes.cordoned_under = 1;
  classes.out_of_scope = 3;
  EXPECT_EQ(classes.summary(), "6 nodes: 1 overutilized, 2 underutilized (1 cordoned), 3 out of scope");
}

}  // namespace node_classes_test
}  // namespace strategies
