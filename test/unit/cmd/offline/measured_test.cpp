#include "cmd/offline/measured.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cmd/commands.hpp"
#include "test/builders/measured.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace measured_test {

using builders::Measured;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// --- measured usage next to requests

class MeasuredSideBySide : public testing::Test {
 protected:
  MeasuredSideBySide() {
    for (const char* name : {"n1", "n2", "n3"}) cluster_.add(builders::NodeBuilder(name));
    cluster_.add(builders::PodBuilder("web").on("n1").cpu(cpu_ / 4));
  }
  const std::int64_t cpu_ = builders::NodeBuilder("n1").build().allocatable.begin()->second.milli();
  builders::ClusterBuilder cluster_;
};

TEST_F(MeasuredSideBySide, HasATableForEachSource) {
  const auto cluster = cluster_.build();
  const UsageAnswers measured = {
      {Measured("prom", {"cpu"}).node("n1", {cpu_ / 2}).foreseen({cpu_ * 3 / 4}).node("n2", {-1}).share(),
       Measured("watcher", {}).percent("psi").node("n2", {12'000}).problem("its newest sample is 7m old").share(),
       Measured("dead", {}).unusable("no answer").share()}};
  EXPECT_EQ(measured_tables({}, *cluster), "");
  const std::string text = measured_tables(measured, *cluster);
  EXPECT_THAT(text, AllOf(HasSubstr("USAGE by prom\n"), HasSubstr("cpu REQUESTED"), HasSubstr("USAGE by watcher\n"),
                          HasSubstr("psi REQUESTED"), HasSubstr("USAGE by dead\nWarning: no answer\n")));
  EXPECT_THAT(text, ContainsRegex("n1 +25% +50% +75%"));
  EXPECT_THAT(text, ContainsRegex("n2 +0% +[?] +-"));
  EXPECT_THAT(text, AllOf(HasSubstr("its newest sample is 7m old"), HasSubstr("not measured"), HasSubstr("12%")));
}

TEST_F(MeasuredSideBySide, IsInJsonWithNullForUnknownValues) {
  const auto cluster = cluster_.build();
  const UsageAnswers measured = {
      {Measured("prom", {"cpu"}).node("n1", {cpu_ / 2}).foreseen({cpu_ * 3 / 4}).node("n2", {-1}).share(),
       Measured("watcher", {}).percent("psi").node("n2", {12'500}).share()}};
  const api::Json json = measured_json(measured, *cluster);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["source"], "prom");
  EXPECT_EQ(json[0]["problem"], "");
  EXPECT_EQ(json[0]["nodes"][0], api::Json::parse(R"({"node":"n1","problem":"","usage":{"cpu":
      {"requestedPercent":25.0,"usedPercent":50.0,"foreseenPercent":75.0}}})"));
  EXPECT_EQ(json[0]["nodes"][1]["usage"]["cpu"], api::Json::parse(R"(
      {"requestedPercent":0.0,"usedPercent":null,"foreseenPercent":null})"));
  EXPECT_EQ(json[0]["nodes"][2]["problem"], "not measured");
  EXPECT_EQ(json[1]["nodes"][1]["usage"]["psi"], api::Json::parse(R"(
      {"requestedPercent":null,"usedPercent":12.5,"foreseenPercent":null})"));
}

TEST_F(MeasuredSideBySide, NamesNodesThatTheClusterDoesNotHave) {
  const auto cluster = cluster_.build();
  Measured source("prom", {"cpu"});
  for (const char* name : {"n1", "x1", "x2", "x3", "x4", "x5", "x6", "x7"}) source.node(name, {cpu_ / 2});
  const UsageAnswers measured = {{source.share()}};
  EXPECT_THAT(
      measured_tables(measured, *cluster),
      HasSubstr("USAGE by prom\nWarning: in the usage data, but not in the dump: x1, x2, x3, x4, x5 and 2 more\n"));
  EXPECT_EQ(measured_json(measured, *cluster)[0]["unknownNodes"].size(), 7U);
}

TEST_F(MeasuredSideBySide, ReportsProblemsOfTheAnswers) {
  const auto cluster = cluster_.build();
  const UsageAnswers measured = {{Measured("prom", {"cpu"}).node("n1", {cpu_ / 2}).share(),
                                  Measured("watcher", {}).percent("psi").node("n2", {12'000}).share()},
                                 {{"query cpu: 3 of 4 are not nodes of this cluster: x1\033[2J"}}};
  EXPECT_THAT(measured_tables(measured, *cluster),
              AllOf(HasSubstr("USAGE by prom\nWarning: query cpu: 3 of 4 are not nodes of this cluster: x1 [2J\nNODE"),
                    HasSubstr("USAGE by watcher\nNODE")));
  const api::Json json = measured_json(measured, *cluster);
  EXPECT_EQ(json[0]["warnings"][0], "query cpu: 3 of 4 are not nodes of this cluster: x1\033[2J");
  EXPECT_EQ(json[1]["warnings"], api::Json::array());
}

// --- the complete command

/// The requests are balanced, the load is not: n1 is overloaded.
class SimulateByUsage : public cmd_test::CommandTest {
 protected:
  SimulateByUsage() {
    std::string& dump = dump_;
    for (const char* node : {"n1", "n2"})
      dump += std::string("- {apiVersion: v1, kind: Node, metadata: {name: ") + node +
              "}, status: {allocatable: {cpu: '8', memory: 16Gi, pods: '50'}, conditions: [{type: Ready, status: "
              "'True'}]}}\n";
    usage_ = "node,cpu\nn1,6\nn2,500m\nnamespace,pod,cpu\n";
    for (int i = 0; i < 4; ++i) {
      const std::string name = "hot-" + std::to_string(i);
      dump += "- {apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: shop, uid: u-" + name +
              ", creationTimestamp: \"2026-01-01T00:00:00Z\", ownerReferences: [{apiVersion: apps/v1, kind: "
              "ReplicaSet, name: rs, uid: u-rs, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, "
              "image: i, resources: {requests: {cpu: 100m}}}]}, status: {phase: Running, conditions: [{type: Ready, "
              "status: 'True'}]}}\n";
      usage_ += "shop," + name + ",1500m\n";
    }
    options_.snapshot = write("dump.yaml", dump);
    options_.usage = write("usage.csv", usage_);
    options_.policy = write("policy.yaml", R"(apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: level}
spec:
  usageSources: [{name: server, type: MetricsServer}]
  strategies:
  - name: LowNodeUtilization
    args: {usage: {source: server}, thresholds: {cpu: 35}, targetThresholds: {cpu: 50}}
)");
    options_.now = "2026-06-01T00:00:00Z";
  }
  void simulate(const std::string& output) {
    options_.output = output;
    ASSERT_EQ(captured([&] { return run_simulate(options_); }), 0) << err_;
  }
  SimulateOptions options_;
  std::string dump_ = "kind: List\nitems:\n";
  std::string usage_;
};

/// All samples of a file have the current time. They include every pod of the dump, even new ones.
TEST_F(SimulateByUsage, PodsThatJustStartedAreInTheFiguresOfAFile) {
  options_.usage = write("nodes.csv", "node,cpu\nn1,6\nn2,500m\n");
  const auto deviation = [&](const char* now) {
    options_.now = now;
    simulate("json");
    return api::Json::parse(out_)["balance"][0]["before"]["deviation"].get<double>();
  };
  const double later = deviation("2026-06-01T00:00:00Z");
  EXPECT_EQ(deviation("2026-01-01T00:00:00Z"), later) << "all pods were created at that moment";
}

TEST_F(SimulateByUsage, HasUsageBalanceAndScoresInJson) {
  simulate("json");
  const auto json = api::Json::parse(out_);
  ASSERT_FALSE(json["moves"].empty()) << out_;
  for (const auto& move : json["moves"]) {
    EXPECT_EQ(move["from"], "n1");
    EXPECT_GT(move["score"].get<double>(), 0);
  }
  EXPECT_EQ(json["usage"][0]["source"], "server");
  EXPECT_EQ(json["usage"][0]["nodes"][0]["usage"]["cpu"]["usedPercent"], 75.0);
  ASSERT_EQ(json["balance"].size(), 1U);
  EXPECT_EQ(json["balance"][0]["strategy"], "LowNodeUtilization");
  EXPECT_GT(json["balance"][0]["before"]["deviation"].get<double>(),
            json["balance"][0]["after"]["deviation"].get<double>());
  EXPECT_GT(json["balance"][0]["before"]["peakToMean"].get<double>(), 1);
}

TEST_F(SimulateByUsage, ShowsScoresInTheWideTableOnly) {
  simulate("table");
  EXPECT_THAT(out_, AllOf(HasSubstr("BALANCE, before → after"), HasSubstr("USAGE by server"), HasSubstr("MOVES"),
                          Not(HasSubstr("SCORE"))));
  simulate("wide");
  EXPECT_THAT(out_, HasSubstr("SCORE"));
  EXPECT_THAT(out_, ContainsRegex("LowNodeUtilization +[0-9]+[.][0-9] +")) << out_;
}

TEST_F(SimulateByUsage, HasNoScoresAndNoUsageWhereNothingIsMeasured) {
  options_.usage.clear();
  simulate("json");
  const auto json = api::Json::parse(out_);
  EXPECT_EQ(json["usage"], api::Json::array());
  EXPECT_EQ(json["moves"], api::Json::array());
}

TEST_F(SimulateByUsage, UnknownUsageIsAllowedUpToThePolicysLimit) {
  options_.usage = write("gap.csv", "node,cpu\nn1,6\nn2,\n");
  simulate("table");
  EXPECT_THAT(out_, HasSubstr("1 of 2 nodes have no usable sample, the maximum is 30 %"));
  options_.policy = write("lenient.yaml", R"(apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: level}
spec:
  usageSources: [{name: server, type: MetricsServer, maxUnknownPercent: 50}]
  strategies:
  - name: LowNodeUtilization
    args: {usage: {source: server}, thresholds: {cpu: 35}, targetThresholds: {cpu: 50}}
)");
  simulate("table");
  EXPECT_THAT(out_, AllOf(Not(HasSubstr("have no usable sample")), HasSubstr("1 of unknown usage")));
}

TEST_F(SimulateByUsage, SaysWhyNoNodeMayTakeLoad) {
  std::string dump = dump_;
  dump.replace(dump.find("name: n2}"), 9, "name: n2}, spec: {unschedulable: true}");
  options_.snapshot = write("cordoned.yaml", dump);
  simulate("json");
  const auto json = api::Json::parse(out_);
  ASSERT_FALSE(json["refusals"].empty()) << out_;
  EXPECT_EQ(
      json["refusals"][0]["message"],
      "no node accepts it and stays below the threshold by measured usage: 1 of 1 nodes: the node is cordoned (n2)");
}

TEST_F(SimulateByUsage, SaysThatPodsOnTheirWayOutDoNotCount) {
  std::string dump = dump_;
  for (std::size_t at = 0; (at = dump.find("uid: u-hot", at)) != std::string::npos; at += 60)
    dump.insert(at, "deletionTimestamp: \"2026-06-01T00:00:00Z\", ");
  options_.snapshot = write("leaving.yaml", dump);
  simulate("table");
  EXPECT_THAT(out_, HasSubstr("measured cpu 75.0 %, above thresholds 35 %; without the pods that are leaving it "
                              "measured cpu 0.0 %, not above targetThresholds 50 %"));
}

TEST_F(SimulateByUsage, SaysThatNothingGoesByTheFigures) {
  options_.policy = write("ages.yaml", R"(apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: ages}
spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600}}]}
)");
  simulate("table");
  EXPECT_THAT(out_, HasSubstr("Warning: --usage is set, but no strategy of the policy uses measured usage"));
}

}  // namespace measured_test
}  // namespace cmd
