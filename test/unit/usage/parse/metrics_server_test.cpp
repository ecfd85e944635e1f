#include "usage/parse/metrics_server.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/unit/usage/parse/text_of.hpp"

namespace usage_metrics_server_parse_test {

using usage_test::joined;
using usage_test::text_of;

std::string list_of(const std::string& items) { return R"({"kind":"X","metadata":{},"items":[)" + items + "]}"; }
std::string node(const std::string& usage) {
  return R"({"metadata":{"name":"n1"},"timestamp":"2026-11-21T12:00:00Z","window":"15s","usage":)" + usage + "}";
}
std::string pod(const std::string& containers) {
  return R"({"metadata":{"name":"web","namespace":"shop"},"timestamp":"2026-11-21T12:00:00Z","containers":)" +
         containers + "}";
}

struct MetricsCase {
  const char* name;
  std::string page;
  std::string want;
};
std::string read(std::string page, decltype(usage::read_node_metrics)* reader) {
  usage::Rows rows(usage::kMetricsWidth);
  const auto token = reader(page, rows);
  if (!token) return "error: " + token.error().message;
  std::vector<std::string> problems;
  rows.oddities.tell("", problems);
  usage::sort_and_merge(rows, "", problems);
  return text_of(rows) + (problems.empty() ? "" : " | " + joined(problems)) + (token->empty() ? "" : " → " + *token);
}

class NodeMetrics : public testing::TestWithParam<MetricsCase> {};
TEST_P(NodeMetrics, AreRead) { EXPECT_EQ(read(GetParam().page, usage::read_node_metrics), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(
    Usage, NodeMetrics,
    testing::Values(
        MetricsCase{"Nanocores", list_of(node(R"({"cpu":"156340123n","memory":"2048Ki"})")), "n1=0.15634/2.09715e+06"},
        MetricsCase{"NotRoundedUp", list_of(node(R"({"cpu":"1n","memory":"1"})")), "n1=1e-09/1"},
        MetricsCase{"OtherSuffixes", list_of(node(R"({"cpu":"1.5","memory":"3Ti"})")), "n1=1.5/3.29853e+12"},
        MetricsCase{"SpacesEverywhere", list_of(node("{ \"cpu\" :\n\"1\" ,\"memory\"\t: \"2\" \n}")), "n1=1/2"},
        MetricsCase{"StrangeKeys", list_of(node(R"({"":"9","\"":"9","c\u0070u":"9","cpu":"1","memory":"2"})")),
                    "n1=1/2"},
        MetricsCase{"NegativeNanocores", list_of(node(R"({"cpu":"-1n","memory":"1"})")),
                    "n1=?/1 | 1 value is negative"},
        MetricsCase{"Negative", list_of(node(R"({"cpu":"-1m","memory":"1"})")), "n1=?/1 | 1 value is negative"},
        MetricsCase{"NoCpu", list_of(node(R"({"memory":"1"})")), "n1=?/1"},
        MetricsCase{"NoUsage", list_of(node("null")), "n1=?/?"},
        MetricsCase{"NumberInsteadOfQuantity", list_of(node(R"({"cpu":1,"memory":"x"})")),
                    "n1=?/? | 2 values are not a number"},
        MetricsCase{"NoName", list_of(R"({"metadata":{},"usage":{"cpu":"1"}})"),
                    " | 1 value is without a complete name: a label or a name is missing"},
        MetricsCase{"Twice", list_of(node(R"({"cpu":"1","memory":"1"})") + "," + node(R"({"cpu":"1","memory":"1"})")),
                    "n1=?/? | more than one value for n1"},
        MetricsCase{"NoItems", R"({"kind":"NodeMetricsList","metadata":{}})",
                    "error: the response is not a list: it has no items"},
        MetricsCase{"NullItems", R"({"kind":"NodeMetricsList","items":null})", ""},
        MetricsCase{"NextPage", R"({"metadata":{"continue":"abc"},"items":[]})", " → abc"},
        MetricsCase{"Html", "<html>",
                    "error: the response is HTML or XML, not JSON: does the URL lead to a proxy or a login page?"}),
    [](const auto& test) { return test.param.name; });

class PodMetrics : public testing::TestWithParam<MetricsCase> {};
TEST_P(PodMetrics, AreRead) { EXPECT_EQ(read(GetParam().page, usage::read_pod_metrics), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(
    Usage, PodMetrics,
    testing::Values(
        MetricsCase{"SumOfContainers",
                    list_of(pod(R"([{"name":"a","usage":{"cpu":"100m","memory":"1Ki"}},)"
                                R"({"name":"b","usage":{"cpu":"50m","memory":"1Ki"}}])")),
                    "shop/web=0.15/2048"},
        MetricsCase{
            "OneContainerWithout",
            list_of(pod(R"([{"name":"a","usage":{"cpu":"100m"}},{"name":"b","usage":{"cpu":"1m","memory":"1"}}])")),
            "shop/web=0.101/?"},
        MetricsCase{"NoContainers", list_of(pod("[]")), "shop/web=?/?"},
        MetricsCase{"NoNamespace", list_of(node(R"({"cpu":"1"})")),
                    " | 1 value is without a complete name: a label or a name is missing"}),
    [](const auto& test) { return test.param.name; });

TEST(NodeMetrics, TimeIsTheEndOfTheWindow) {
  usage::Rows rows(usage::kMetricsWidth);
  std::string page = list_of(node(R"({"cpu":"1"})") + R"(,{"metadata":{"name":"n2"}})");
  ASSERT_TRUE(usage::read_node_metrics(page, rows));
  EXPECT_EQ(base::format_time(rows.rows[0].time), "2026-11-21T12:00:00Z");
  EXPECT_EQ(rows.rows[1].time, base::TimePoint{}) << "without a time it is too old for everybody";
}

std::string read_containers(std::string page) {
  std::string text;
  usage::InvalidCounts oddities;
  const auto token = usage::read_container_metrics(
      page,
      [&](const usage::ContainerSample& each) {
        text += fmt::format("{}{}/{}/{}@{}={}/{}", text.empty() ? "" : " ", each.ns, each.pod, each.container,
                            base::format_time(each.time), each.cpu, each.memory);
      },
      oddities);
  if (!token) return "error: " + token.error().message;
  std::vector<std::string> problems;
  oddities.tell("", problems);
  return text + (problems.empty() ? "" : " | " + joined(problems)) + (token->empty() ? "" : " → " + *token);
}

class ContainerMetrics : public testing::TestWithParam<MetricsCase> {};
TEST_P(ContainerMetrics, AreRead) { EXPECT_EQ(read_containers(GetParam().page), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(
    Usage, ContainerMetrics,
    testing::Values(
        MetricsCase{"Each", list_of(pod(R"([{"name":"a","usage":{"cpu":"250m","memory":"1Ki"}},
                                           {"usage":{"memory":"2","cpu":"1"},"name":"b"}])")),
                    "shop/web/a@2026-11-21T12:00:00Z=0.25/1024 shop/web/b@2026-11-21T12:00:00Z=1/2"},
        MetricsCase{"BeforeTheNames", list_of(R"({"containers":[{"name":"a","usage":{"cpu":"1","memory":"2"}}],
                               "metadata":{"namespace":"shop","name":"web"}})"),
                    "shop/web/a@1970-01-01T00:00:00Z=1/2"},
        MetricsCase{"Half", list_of(pod(R"([{"name":"a","usage":{"cpu":"1"}}])")),
                    "shop/web/a@2026-11-21T12:00:00Z=1/nan"},
        MetricsCase{
            "Hostile", list_of(pod(R"([{"name":"a","usage":{"cpu":"-1","memory":"x"}},{"name":7},{},3])")),
            "shop/web/a@2026-11-21T12:00:00Z=nan/nan | 1 value is negative; 1 value is not a number; 3 values are "
            "without a complete name: a label or a name is missing"},
        MetricsCase{"OfNobody", list_of(R"({"metadata":{"name":"web"},"containers":[{"name":"a"}]})"),
                    " | 1 value is without a complete name: a label or a name is missing"},
        MetricsCase{"NextPage", R"({"metadata":{"continue":"abc"},"items":[]})", " → abc"},
        MetricsCase{"NoList", R"({"kind":"PodMetricsList"})", "error: the response is not a list: it has no items"}),
    [](const auto& test) { return test.param.name; });

TEST(ContainersOfAPod, AreBounded) {
  std::string containers;
  for (int i = 0; i < 500; ++i) containers += (i ? "," : "") + std::string(R"({"name":"c"})");
  std::string page = list_of(pod("[" + containers + "]"));
  std::size_t count = 0;
  usage::InvalidCounts oddities;
  ASSERT_TRUE(usage::read_container_metrics(
      page, [&](const auto&) { ++count; }, oddities));
  EXPECT_EQ(count, usage::kMaxContainersOfPod);
}

}  // namespace usage_metrics_server_parse_test
