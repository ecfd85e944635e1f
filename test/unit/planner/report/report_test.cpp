#include "planner/report/report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "planner/report/report_json.hpp"
#include "planner/report/summary.hpp"
#include "test/unit/planner/report/report_fixture.hpp"

namespace report {
namespace report_test {

using namespace reporting_test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<NodeFate> fates(const Report& report) {
  std::vector<NodeFate> fates;
  for (const ReportNode& node : report.nodes) fates.push_back(node.fate);
  return fates;
}

const ReportPod& pod(const Report& report, std::string_view name) {
  return *std::ranges::find(report.pods, name, &ReportPod::name);
}

TEST(ReportTest, ASwapFreesOneNodeAndAnotherIsHeld) {
  const Report report = swap_report();
  EXPECT_THAT(fates(report), ElementsAre(NodeFate::kStays, NodeFate::kFreed, NodeFate::kHeld, NodeFate::kEmpty));
  EXPECT_EQ(report.freed(), 1);
  EXPECT_EQ(report.busy_before, 3);
  EXPECT_EQ(report.busy_after, 2);
  ASSERT_EQ(report.held.size(), 1U);
  EXPECT_EQ(report.held[0], (ReportHold{2, "default/quorum-2", "AntiAffinity", "2 of 3 refuse"}));
  ASSERT_EQ(report.bounds.size(), 1U);
  EXPECT_EQ(report.bounds[0].most, 1);
}

TEST(ReportTest, MovesReportWhetherTheyEmptyTheirNodeOrFreeCapacity) {
  const Report report = swap_report();
  ASSERT_EQ(report.moves.size(), 2U);
  EXPECT_EQ(report.pods[report.moves[0].pod].name, "web-1");
  EXPECT_FALSE(report.moves[0].empties_node);
  EXPECT_EQ(report.moves[0].to, 2U);
  EXPECT_TRUE(report.moves[1].empties_node);
  EXPECT_THAT(report.waves(), ElementsAre(1, 2));
}

TEST(ReportTest, AmountsAreMilliCoresBytesAndPods) {
  const Report report = swap_report();
  EXPECT_EQ(report.nodes[0].amounts[0], (Amount{4000, 4000, 3100}));
  EXPECT_EQ(report.nodes[0].amounts[1], (Amount{4000, 2000, 1100}));
  EXPECT_EQ(report.nodes[0].amounts[2], (Amount{10, 3, 3}));
  EXPECT_EQ(report.nodes[1].amounts[0], (Amount{4000, 1100, 100}));
  EXPECT_EQ(pod(report, "web-1").cpu, 1900);
  EXPECT_EQ(pod(report, "web-1").memory, 1000);
  EXPECT_EQ(pod(report, "web-1").owner, "ReplicaSet/rs");
}

TEST(ReportTest, ThePlansOwnUtilizationWins) {
  planner::Plan plan = swap_plan();
  planner::NodeUtilization& row = plan.utilization.emplace_back();
  row.node = "n4";
  row.cpu.after = api::Quantity::from_milli(777);
  EXPECT_EQ(report_of(swap_cluster(), plan).nodes[3].amounts[0], (Amount{4000, 100, 777}));
}

TEST(ReportTest, HistogramsCountNodesInStepsOfTenPercent) {
  const Histogram& cpu = swap_report().histograms[0];
  // before: n1 100 %, n2 and n3 27.5 %, n4 2.5 %; after: n1 77.5 %, n2 2.5 %, n3 75 %, n4 2.5 %
  EXPECT_THAT(cpu.before, ElementsAre(1, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0));
  EXPECT_THAT(cpu.after, ElementsAre(2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0));
}

TEST(ReportTest, OvercommittedNodesHaveTheirOwnBinAndNodesWithoutCapacityHaveNone) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2").sized(0, 0, 10));
  cluster.add(PodBuilder("a").on("n1").cpu(4001));
  const Histogram cpu = report_of(cluster, {}).histograms[0];
  EXPECT_EQ(cpu.before[10], 1);
  EXPECT_EQ(std::accumulate(cpu.before.begin(), cpu.before.end(), 0), 1);
}

TEST(ReportTest, SharesAreOfBusyNodes) {
  const BusyShare cpu = swap_report().busy_share[0];
  EXPECT_DOUBLE_EQ(cpu.before, (4000 + 1100 + 1100) / 12000.0);
  EXPECT_DOUBLE_EQ(cpu.after, (3100 + 3000) / 8000.0);
}

TEST(ReportTest, TerminatingAndTerminalPodsDoNotMakeANodeBusy) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  cluster.add(PodBuilder("going").on("n1").terminating());
  cluster.add(PodBuilder("done").on("n2").phase(api::PodPhase::kSucceeded));
  cluster.add(PodBuilder("asked").on("n3")).add(PodBuilder("waiting"));
  const Report report = report_of(cluster, {}, "p", {{"default", {"uid-asked"}}});
  EXPECT_THAT(fates(report), ElementsAre(NodeFate::kEmpty, NodeFate::kEmpty, NodeFate::kEmpty));
  EXPECT_EQ(report.pods.size(), 2U);
  EXPECT_EQ(pod(report, "asked").role, PodRole::kLeaving);
  EXPECT_EQ(report.pending, 1);
}

TEST(ReportTest, AMoveWithoutATargetOrOfAnUnknownPodIsHarmless) {
  planner::Plan plan;
  plan.moves = {planned("quorum-1", "n2", ""), planned("nobody", "n9", "n1")};
  const Report report = report_of(swap_cluster(), plan);
  ASSERT_EQ(report.moves.size(), 1U);
  EXPECT_EQ(report.moves[0].to, kNoNode);
  EXPECT_EQ(report.nodes[1].fate, NodeFate::kFreed);
}

TEST(ReportTest, AnEmptyClusterHasAReport) {
  const Report report = report_of(ClusterBuilder(), {});
  EXPECT_TRUE(report.nodes.empty());
  EXPECT_THAT(summary_lines(report), Contains(HasSubstr("0 of 0 nodes")));
}

TEST(ReportTest, WarningsOfThePlanAndOfTheCallerAreReported) {
  planner::Plan plan;
  plan.warnings = {{"spec.x", "is odd"}};
  const auto snapshot = swap_cluster().build();
  const Report report = make_report({.policy = "p",
                                     .now = builders::kNoon,
                                     .plan = plan,
                                     .cluster = *snapshot,
                                     .warnings = {"two pods of unknown age", ""}});
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("is odd"), "two pods of unknown age"));
}

TEST(ReportJsonTest, ColumnsHaveOneLengthAndReferencesAreRowNumbers) {
  const api::Json json = encode_report(swap_report());
  EXPECT_EQ(json["format"], kReportFormat);
  const api::Json& pods = json["pods"];
  for (const char* column : {"name", "namespace", "owner", "node", "role", "cpu", "memory"})
    EXPECT_EQ(pods[column].size(), 8U) << column;
  const api::Json& move = json["moves"][1];
  const auto at = move["pod"].get<std::size_t>();
  EXPECT_EQ(pods["name"][at], "quorum-1");
  EXPECT_EQ(json["nodes"][pods["node"][at].get<std::size_t>()]["name"], "n2");
  EXPECT_EQ(json["nodes"][move["to"].get<std::size_t>()]["name"], "n1");
  EXPECT_EQ(json["nodes"][1]["fate"], "freed");
  EXPECT_EQ(json["nodes"][0]["cpu"], api::Json({4000, 4000, 3100}));
  EXPECT_EQ(pods["owners"], api::Json({"DaemonSet/agent", "ReplicaSet/rs"}));
  EXPECT_EQ(json["held"][0]["pod"], "default/quorum-2");
  EXPECT_EQ(json["totals"]["freed"], 1);
}

struct Number {
  double share;
  const char* text;
};
TEST(SummaryTest, PercentNeverRoundsTo0Or100) {
  for (const Number& each : {Number{0, "0 %"}, {0.001, "< 1 %"}, {0.946, "95 %"}, {0.999, "99 %"}, {1, "100 %"}})
    EXPECT_EQ(percent(each.share), each.text);
}

TEST(SummaryTest, NumbersAreGrouped) {
  EXPECT_EQ(plural(1, "node"), "1 node");
  EXPECT_EQ(plural(0, "node"), "0 nodes");
  EXPECT_EQ(plural(30000, "pod"), "30,000 pods");
  EXPECT_EQ(plural(1234567, "pod"), "1,234,567 pods");
}

TEST(SummaryTest, ShowsTheBoundBesideTheResult) {
  EXPECT_THAT(summary_lines(swap_report()),
              ElementsAre(HasSubstr("4 nodes, 8 pods"),
                          "1 of 3 nodes with pods freed; at most 1 could be, because of requests of cpu.",
                          "2 moves in 2 waves, 2.0 for each freed node.",
                          "Nodes with pods: CPU requests 52 % → 76 %, memory 18 % → 28 %."));
}

}  // namespace report_test
}  // namespace report
