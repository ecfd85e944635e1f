#include "usage/sources/daily.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "test/unit/usage/sources/fake_server.hpp"

/// Daily figures from queries: the queries that are sent and the handling of their answers.
namespace usage_daily_test {

using testing::HasSubstr;
using testing::Not;

const std::string kNow = "/api/v1/query";
const std::string kRange = "/api/v1/query_range";

std::string vector(const std::string& series) {
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + series + "]}}";
}
std::string namespace_count(const std::string& ns, int count) {
  return R"({"metric":{"namespace":")" + ns + R"("},"value":[1,")" + std::to_string(count) + R"("]})";
}
std::string container(const std::string& ns, const std::string& joined, const std::string& value) {
  return R"({"metric":{"namespace":")" + ns + R"(","evacuator_series":")" + joined + R"("},"value":[1,")" + value +
         R"("]})";
}

class Daily : public testing::Test {
 protected:
  usage::DailyHistory history(usage::DailySettings settings = {}) {
    api::UsageEndpoint endpoint;
    endpoint.url = "http://prometheus";
    return {endpoint, world_.dependencies(), settings};
  }
  usage_test::World world_;
};

TEST_F(Daily, SplitsADayByNamespaces) {
  world_.server.on(
      kNow, vector(namespace_count("a", 3) + "," + namespace_count("b", 4) + "," + namespace_count("big", 99) + "," +
                   namespace_count("c", 1) + "," + namespace_count("x\\\"} or up", 1)));
  const auto shards = history().shards(usage_test::kNoon, 7);
  ASSERT_TRUE(shards) << shards.error().message;
  EXPECT_THAT(*shards, testing::ElementsAre("namespace=~\"a|b\"", "namespace=~\"big\"", "namespace=~\"c\""));
  EXPECT_THAT(*history({.ns = "shop"}).shards(usage_test::kNoon, 7), testing::ElementsAre(""));
  EXPECT_EQ(world_.server.requests.size(), 1U) << "one namespace needs no question";
}

TEST_F(Daily, DistinguishesContainersByName) {
  world_.server.on(kNow, vector(container("shop", "web/app", "0.5") + "," + container("shop", "nothing", "1") + "," +
                                container("shop", "web/bad", "NaN") + "," + container("b", "x/twice", "1") + "," +
                                container("b", "x/twice", "2")));
  std::string found;
  auto daily = history();
  const auto told =
      daily.containers({"cpu_peak", "up"}, usage_test::kNoon, [&](auto ns, auto pod, auto container, double value) {
        found += std::string(ns) + "/" + std::string(pod) + "/" + std::string(container) +
                 (std::isnan(value) ? " ?;" : " ok;");
      });
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(found, "b/x/twice ?;shop/web/app ok;shop/web/bad ?;");
  const std::string& query = world_.server.requests[0].query;
  EXPECT_THAT(query, HasSubstr("label_join"));
  EXPECT_THAT(query, HasSubstr("time=1795262400.000"));
  EXPECT_EQ(daily.queries(), 1U);
}

TEST_F(Daily, ReportsWhichFigureFailed) {
  world_.server.on(kNow, R"({"status":"error","errorType":"execution","error":"too many samples"})", 422);
  const auto told = history().containers({"cpu_p95", "up"}, usage_test::kNoon, [](auto, auto, auto, double) {});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message, "cpu_p95: the server reports execution: too many samples");
  EXPECT_TRUE(history().containers({"none", ""}, usage_test::kNoon, [](auto, auto, auto, double) {}));
}

TEST_F(Daily, ReadsNumbersInParts) {
  world_.server.on(kNow, vector(R"({"metric":{},"value":[1,"20000"]})"));
  const auto answer = [](int second) {
    return R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"evacuator_series":"shop/web/app"},)"
           R"("values":[[)" +
           std::to_string(second) + R"(,"-47"]]},{"metric":{"evacuator_series":"odd"},"values":[[)" +
           std::to_string(second) + R"(,"1"]]}]}})";
  };
  world_.server.on(kRange, answer(300));
  world_.server.on(kRange, answer(21'000));
  const usage::Grid grid{base::TimePoint(base::seconds(300)), base::minutes(5), 72};
  std::string found;
  const auto told = history().numbers({"cpu", "up"}, grid, [&](auto ns, auto pod, auto container, auto numbers) {
    found += std::string(ns) + "/" + std::string(pod) + "/" + std::string(container);
    for (const std::int32_t each : numbers) found += " " + std::to_string(each);
    found += ";";
  });
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(found, "shop/web/app -47;shop/web/app -47;");
  EXPECT_EQ(world_.server.requests.size(), 3U) << "69 steps of 20,000 containers are as much as an answer holds";
  EXPECT_THAT(world_.server.requests[2].query, HasSubstr("start=21000.000"));
}

TEST_F(Daily, NumbersAreIntegersAndReportedOnce) {
  world_.server.on(kNow, vector(R"({"metric":{},"value":[1,"2"]})"));
  const auto series = [](const std::string& value) {
    return R"({"metric":{"evacuator_series":"shop/web/app"},"values":[[300,")" + value + R"("]]})";
  };
  const auto answer = [&](const std::string& result) {
    return R"({"status":"success","data":{"resultType":"matrix","result":[)" + result + "]}}";
  };
  world_.server.on(kRange, answer(series("1") + "," + series("2")));
  const usage::Grid grid{base::TimePoint(base::seconds(300)), base::minutes(5), 1};
  int told = 0;
  const auto count = [&](auto, auto, auto, auto numbers) { told += static_cast<int>(numbers.size()); };
  EXPECT_TRUE(history().numbers({"cpu", "up"}, grid, count));
  EXPECT_EQ(told, 1);
  world_.server.answers[kRange].clear();
  world_.server.on(kRange, answer(series("0.5")));
  const auto refused = history().numbers({"cpu", "up"}, grid, count);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cpu: the response contains values that are not whole numbers");
}

TEST(DailyExpressions, RespectTheSettings) {
  usage::DailySettings settings;
  settings.matchers = "cluster=\"eu\"";
  settings.ns = "shop";
  for (const auto& expression : usage::container_expressions(settings, "")) {
    EXPECT_THAT(expression.promql, HasSubstr("cluster=\"eu\"")) << expression.name;
    EXPECT_THAT(expression.promql, HasSubstr("namespace=\"shop\"")) << expression.name;
  }
  EXPECT_THAT(usage::steady_cpu(settings, ""), HasSubstr("container_start_time_seconds"));
  settings.startup = {};
  EXPECT_THAT(usage::steady_cpu(settings, ""), Not(HasSubstr("container_start_time_seconds")));
  EXPECT_EQ(usage::container_expressions(settings, "")[4].promql, "") << "no start-ups, no question";
  EXPECT_THAT(usage::steady_cpu(settings, "namespace=~\"a|b\""), Not(HasSubstr("shop")));
  EXPECT_EQ(usage::steady_cpu_buckets(settings, "", 0.02), "ceil(ln(" + usage::steady_cpu(settings, "") + ") / 0.02)");
}

}  // namespace usage_daily_test
