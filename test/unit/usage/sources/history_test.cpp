#include <gtest/gtest.h>

#include <cmath>

#include "kube/config/url.hpp"
#include "test/unit/usage/parse/text_of.hpp"
#include "test/unit/usage/sources/fake_server.hpp"
#include "usage/sources/prometheus.hpp"

/// Range queries in parts.
namespace usage_history_query_test {

const std::string kNow = "/api/v1/query";
const std::string kRange = "/api/v1/query_range";

std::string count_of(int series) {
  return R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,")" +
         std::to_string(series) + R"("]}]}})";
}
std::string matrix(const std::string& series) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + series + "]}}";
}
std::string series(const std::string& node, const std::string& points) {
  return R"({"metric":{"node":")" + node + R"("},"values":[)" + points + "]}";
}

class History : public testing::Test {
 protected:
  History() {
    source_.type = api::UsageSourceType::kPrometheus;
    source_.endpoint.url = "http://prometheus";
    api::UsageQuery query;
    query.resource = "cpu";
    query.query = "load # of all";
    source_.queries.push_back(query);
  }
  base::Result<std::vector<usage::Series>> ask(base::TimePoint from, base::TimePoint to, base::Duration step) {
    usage::Prometheus prometheus(source_, world_.dependencies());
    return prometheus.history(from, to, step);
  }
  static std::string text_of(const usage::Series& series) {
    std::string text = series.node + ":";
    for (const float value : series.values) text += " " + usage_test::text_of(value);
    return text;
  }

  usage_test::World world_;
  api::UsageSource source_;
  const base::TimePoint start_{base::seconds(1000)};
};

TEST_F(History, IsAlignedToAGrid) {
  world_.server.on(kNow, count_of(2));
  world_.server.on(kRange, matrix(series("n1", R"([1000,"1"],[1120.001,"3"],[99999,"9"])") + "," +
                                  series("n2", R"([1060,"NaN"],[1180,"-1"])")));
  const auto found = ask(start_, start_ + base::seconds(180), base::seconds(60));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(text_of((*found)[0]), "n1: 1 ? 3 ?");
  EXPECT_EQ(text_of((*found)[1]), "n2: ? ? ? ?");
  EXPECT_EQ((*found)[0].start, start_);
  EXPECT_EQ((*found)[0].step, base::seconds(60));
  EXPECT_EQ(world_.server.requests[0].query, "query=count%28%0Aload%20%23%20of%20all%0A%29&timeout=10000ms");
  EXPECT_EQ(world_.server.requests[1].query,
            "query=load%20%23%20of%20all&start=1000.000&end=1180.000&step=60.000&timeout=10000ms");
}

TEST_F(History, QueriesPartsOfElevenThousandPoints) {
  world_.server.on(kNow, count_of(1));
  world_.server.on(kRange, matrix(series("n1", R"([1000,"1"])")));
  world_.server.on(kRange, matrix(series("n1", R"([661000,"2"])")));
  const auto found = ask(start_, start_ + base::minutes(11'000), base::minutes(1));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(world_.server.requests.size(), 3U);
  EXPECT_NE(world_.server.requests[1].query.find("start=1000.000&end=660940.000"), std::string::npos);
  EXPECT_NE(world_.server.requests[2].query.find("start=661000.000&end=661000.000"), std::string::npos);
  ASSERT_EQ((*found)[0].values.size(), 11'001U);
  EXPECT_EQ((*found)[0].values.front(), 1);
  EXPECT_EQ((*found)[0].values.back(), 2);
}

TEST_F(History, ManyNodesMakeSmallerParts) {
  world_.server.on(kNow, count_of(5000));
  world_.server.on(kRange, matrix(""));
  ASSERT_TRUE(ask(start_, start_ + base::minutes(999), base::minutes(1)));
  EXPECT_EQ(world_.server.requests.size(), 1U + 8U) << "139 points each";
}

TEST_F(History, TooMuchIsRefused) {
  world_.server.on(kNow, count_of(5000));
  const auto found = ask(start_, start_ + base::minutes(9999), base::minutes(1));
  ASSERT_FALSE(found);
  EXPECT_EQ(
      found.error().message,
      "query cpu: history: 5000 series of 10000 points exceed the maximum: use a longer step or a shorter history");
}

TEST_F(History, MoreSeriesThanCountedAreLimited) {
  world_.server.on(kNow, count_of(1));
  std::string many;
  for (int i = 0; i < 2000; ++i) many += (i > 0 ? "," : "") + series("n" + std::to_string(i), R"([1000,"1"])");
  world_.server.on(kRange, matrix(many));
  const auto found = ask(start_, start_ + base::minutes(9999), base::minutes(1));
  ASSERT_FALSE(found) << "20 million values from a small answer";
  EXPECT_NE(found.error().message.find("too many series (more than 1677)"), std::string::npos) << found.error().message;
}

TEST_F(History, DuplicatePointIsUnknown) {
  world_.server.on(kNow, count_of(2));
  world_.server.on(kRange,
                   matrix(series("n1", R"([1000,"1"],[1060,"2"])") + "," + series("n1", R"([1060,"2"],[1120,"3"])")));
  const auto found = ask(start_, start_ + base::seconds(120), base::seconds(60));
  ASSERT_TRUE(found);
  EXPECT_EQ(text_of((*found)[0]), "n1: 1 ? 3");
}

TEST_F(History, WithoutSeriesThereIsNoHistory) {
  world_.server.on(kNow, matrix("").replace(matrix("").find("matrix"), 6, "vector"));
  world_.server.on(kRange, matrix(""));
  const auto found = ask(start_, start_ + base::seconds(120), base::seconds(60));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->empty());
}

TEST_F(History, ErrorsNameTheQuery) {
  world_.server.on(kNow, count_of(1));
  world_.server.on(kRange, R"({"status":"error","errorType":"bad_data","error":"exceeded maximum resolution"})", 400);
  EXPECT_EQ(ask(start_, start_ + base::seconds(120), base::seconds(60)).error().message,
            "query cpu: history: the server reports bad_data: exceeded maximum resolution");
}

}  // namespace usage_history_query_test
