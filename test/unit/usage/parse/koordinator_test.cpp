#include "usage/parse/koordinator.hpp"

#include <gtest/gtest.h>

#include "test/unit/usage/parse/text_of.hpp"

namespace usage_koordinator_test {

using usage_test::joined;
using usage_test::text_of;

const std::string kMetric = R"({"metadata":{"name":"n1"},"status":{"updateTime":"2026-11-21T12:00:00Z",
  "nodeMetric":{"nodeUsage":{"resources":{"cpu":"1500m","memory":"1Ki"}},"systemUsage":{"resources":{"cpu":"9"}},
    "aggregatedNodeUsages":[
      {"duration":"30m0s","usage":{"p95":{"resources":{"cpu":"9","memory":"9"}}}},
      {"duration":"5m0s","usage":{"p95":{"resources":{"cpu":"2","memory":"2Ki"}},"avg":{"resources":{"cpu":"1"}}}}]},
  "podsMetric":[{"namespace":"shop","name":"web","podUsage":{"resources":{"cpu":"250m","memory":"1"}}},
                {"namespace":"shop","name":"db"}]}})";

std::string read(std::string page, std::string_view aggregation = {}) {
  usage::Rows nodes(usage::kKoordinatorWidth);
  usage::Rows pods(usage::kKoordinatorWidth);
  const auto token = usage::read_node_metric_list(page, aggregation, nodes, pods);
  if (!token) return "error: " + token.error().message;
  std::vector<std::string> problems;
  nodes.oddities.tell("", problems);
  pods.oddities.tell("", problems);
  return text_of(nodes) + "; " + text_of(pods) + (problems.empty() ? "" : " | " + joined(problems));
}
std::string list_of(const std::string& items) { return R"({"metadata":{},"items":[)" + items + "]}"; }

TEST(Koordinator, CurrentUsageIsTheDefault) {
  EXPECT_EQ(read(list_of(kMetric)), "n1=1.5/1024; shop/web=0.25/1 shop/db=?/?");
}

TEST(Koordinator, UsesTheAggregationWithTheShortestDuration) {
  EXPECT_EQ(read(list_of(kMetric), "p95"), "n1=2/2048; shop/web=0.25/1 shop/db=?/?");
  EXPECT_EQ(read(list_of(kMetric), "avg"), "n1=1/?; shop/web=0.25/1 shop/db=?/?");
  EXPECT_EQ(read(list_of(kMetric), "p50"), "n1=?/?; shop/web=0.25/1 shop/db=?/?");
}

TEST(Koordinator, NodeThatReportsNothingHasNoValues) {
  EXPECT_EQ(read(list_of(R"({"metadata":{"name":"n1"},"spec":{}})")), "n1=?/?; ");
}

TEST(Koordinator, ParsesUnusualAmounts) {
  const std::string odd =
      R"({"metadata":{"name":"n1"},"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":2,"memory":"-1"}}}}})";
  EXPECT_EQ(read(list_of(odd)), "n1=2/?;  | 1 value is negative");
}

TEST(Koordinator, CurrentUsageIsNotReadWithAnAggregation) {
  const std::string odd = R"({"metadata":{"name":"n1"},"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"-1"}},
    "aggregatedNodeUsages":[{"duration":"5m0s","usage":{"p95":{"resources":{"cpu":"2"}}}}]}}})";
  EXPECT_EQ(read(list_of(odd), "p95"), "n1=2/?; ");
}

TEST(Koordinator, TimeIsThatOfTheReport) {
  usage::Rows nodes(usage::kKoordinatorWidth);
  usage::Rows pods(usage::kKoordinatorWidth);
  std::string page = list_of(kMetric);
  ASSERT_TRUE(usage::read_node_metric_list(page, "", nodes, pods));
  EXPECT_EQ(base::format_time(nodes.rows[0].time), "2026-11-21T12:00:00Z");
}

TEST(Koordinator, NoListIsAnError) { EXPECT_EQ(read("{}"), "error: the response is not a list: it has no items"); }

}  // namespace usage_koordinator_test
