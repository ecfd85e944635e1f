#include "usage/sources/metrics_server.hpp"

#include <gtest/gtest.h>

#include "test/unit/usage/parse/text_of.hpp"
#include "test/unit/usage/sources/fake_server.hpp"

namespace usage_metrics_server_test {

using usage_test::text_of;

const std::string kNodes = "/apis/metrics.k8s.io/v1beta1/nodes";
const std::string kPods = "/apis/metrics.k8s.io/v1beta1/pods";

class MetricsServer : public testing::Test {
 protected:
  usage_test::World world_;
  usage::MetricsServer source_{world_.client};
};

TEST_F(MetricsServer, ReadsNodesAndPodsPageByPage) {
  world_.api_server.on(kNodes, R"({"items":[{"metadata":{"name":"n1"},"usage":{"cpu":"1","memory":"2"}}]})");
  world_.api_server.on(kPods, R"({"metadata":{"continue":"t/1"},"items":[{"metadata":{"namespace":"b","name":"p"},
                                 "containers":[{"usage":{"cpu":"1","memory":"2"}}]}]})");
  world_.api_server.on(kPods, R"({"items":[{"metadata":{"namespace":"a","name":"p"},
                                 "containers":[{"usage":{"cpu":"3","memory":"4"}}]}]})");
  const auto samples = source_.sample();
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(text_of(*samples), "n1=1/2 a/p=3/4 b/p=1/2");
  EXPECT_TRUE(samples->problems.empty());
  ASSERT_EQ(world_.api_server.requests.size(), 3U);
  EXPECT_EQ(world_.api_server.requests[2].query, "limit=1000&continue=t%2F1");
}

TEST_F(MetricsServer, WindowsAreThoseOfTheServer) {
  const auto node = [](const std::string& name, const std::string& window) {
    return R"({"metadata":{"name":")" + name + R"("},"window":")" + window + R"(","usage":{"cpu":"1","memory":"2"}})";
  };
  struct Row {
    std::string items;
    base::Duration want;
  };
  for (const Row& row : {Row{node("n1", "10s") + "," + node("n2", "20.5s"), base::milliseconds(20'500)},
                         Row{node("n1", "5m0s"), base::minutes(5)}, Row{node("n1", "soon"), base::seconds(15)},
                         Row{node("n1", "-5s"), base::seconds(15)}, Row{node("n1", "9000h"), base::seconds(15)}}) {
    world_.api_server.answers.clear();
    world_.api_server.on(kNodes, R"({"items":[)" + row.items + "]}");
    const auto samples = source_.sample();
    ASSERT_TRUE(samples) << samples.error().message;
    EXPECT_EQ(samples->columns[0].window, row.want) << row.items;
    EXPECT_EQ(samples->columns[1].window, base::Duration{}) << "memory is as it is";
  }
}

TEST_F(MetricsServer, NodesCountWithoutPods) {
  world_.api_server.on(kNodes, R"({"items":[{"metadata":{"name":"n1"},"usage":{"cpu":"1","memory":"2"}}]})");
  world_.api_server.on(kPods, "", 503);
  const auto samples = source_.sample();
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(text_of(*samples), "n1=1/2");
  ASSERT_EQ(samples->problems.size(), 1U);
  EXPECT_TRUE(samples->problems[0].starts_with("listing pods.metrics.k8s.io: ")) << samples->problems[0];
}

TEST_F(MetricsServer, MissingApiReportsWhatToInstall) {
  const auto samples = source_.sample();
  ASSERT_FALSE(samples);
  EXPECT_EQ(
      samples.error().message,
      "listing nodes.metrics.k8s.io: metrics.k8s.io/v1beta1 is not served; is the component that serves it installed?");
}

TEST_F(MetricsServer, MissingPermissionsReportWhereTheyAreDefined) {
  world_.api_server.on(kNodes, R"({"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","code":403})",
                       403);
  const auto samples = source_.sample();
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().code, base::ErrorCode::kForbidden);
  EXPECT_NE(samples.error().message.find("config/optional/usage-metrics-server.yaml"), std::string::npos);
}

TEST_F(MetricsServer, PagesThatRepeatEnd) {
  world_.api_server.on(kNodes, R"({"metadata":{"continue":"t"},"items":[]})");
  const auto samples = source_.sample();
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "listing nodes.metrics.k8s.io: the server repeats pages indefinitely");
  EXPECT_EQ(world_.api_server.requests.size(), 2U);
}

TEST_F(MetricsServer, ReadsContainersInPagesAndReportsErrors) {
  world_.api_server.on(kPods, R"({"metadata":{"continue":"t"},"items":[{"metadata":{"namespace":"b","name":"p"},
                                 "containers":[{"name":"x","usage":{"cpu":"-1","memory":"2"}}]}]})");
  world_.api_server.on(kPods, R"({"items":[{"metadata":{"namespace":"a","name":"p"},
                                 "containers":[{"name":"y","usage":{"cpu":"3","memory":"4"}}]}]})");
  std::string names;
  const auto told = usage::sample_containers(world_.client, [&](const usage::ContainerSample& each) {
    names.append(each.ns).append(each.pod).append(each.container) += ' ';
  });
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(names, "bpx apy ");
  ASSERT_EQ(told->size(), 1U);
  EXPECT_EQ(told->front(), "containers: 1 value is negative");
}

TEST_F(MetricsServer, FailsIfNoServerHasContainers) {
  world_.api_server.on(kPods, "", 503);
  EXPECT_FALSE(usage::sample_containers(world_.client, [](const auto&) {}));
}

TEST_F(MetricsServer, KeepsNoHistory) {
  EXPECT_EQ(source_.history({}, {}, base::minutes(1)).error().code, base::ErrorCode::kUnsupported);
}

}  // namespace usage_metrics_server_test
