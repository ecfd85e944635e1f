#include "usage/parse/load_watcher.hpp"

#include <gtest/gtest.h>

#include "test/unit/usage/parse/text_of.hpp"

namespace usage_load_watcher_test {

using usage_test::joined;
using usage_test::text_of;

std::string metric(const std::string& type, const std::string& op, const std::string& value) {
  return R"({"name":"","type":")" + type + R"(","operator":")" + op + R"(","rollup":"","value":)" + value + "}";
}
std::string answer_of(const std::string& nodes) {
  return R"({"timestamp":1763726460,"window":{"duration":"15m","start":1763725500,"end":1763726400},"source":"Prometheus",
             "data":{"NodeMetricsMap":{)" +
         nodes + "}}}";
}
std::string node(const std::string& name, const std::string& metrics) {
  return "\"" + name + R"(":{"metrics":[)" + metrics + R"(],"tags":{},"metadata":{"dataCenter":""}})";
}
std::string read(std::string answer) {
  usage::Rows rows(usage::kLoadWatcherWidth);
  const auto done = usage::read_load_watcher(answer, rows);
  if (!done) return "error: " + done.error().message;
  std::vector<std::string> problems;
  rows.oddities.tell("", problems);
  usage::sort_and_merge(rows, "", problems);
  return text_of(rows) + (problems.empty() ? "" : " | " + joined(problems));
}

struct WatcherCase {
  const char* name;
  std::string answer;
  std::string want;
};
class LoadWatcherAnswer : public testing::TestWithParam<WatcherCase> {};
TEST_P(LoadWatcherAnswer, IsRead) { EXPECT_EQ(read(GetParam().answer), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(
    Usage, LoadWatcherAnswer,
    testing::Values(
        WatcherCase{"AverageWinsOverLatest",
                    answer_of(node("n1", metric("CPU", "Latest", "90") + "," + metric("CPU", "AVG", "12.5") + "," +
                                             metric("CPU", "Latest", "91"))),
                    "n1=12.5/?"},
        WatcherCase{"LatestAlone",
                    answer_of(node("n1", metric("CPU", "Latest", "90") + "," + metric("Memory", "", "7"))), "n1=90/7"},
        WatcherCase{"DeviationIsNoLoad", answer_of(node("n1", metric("CPU", "STD", "3"))), "n1=?/?"},
        WatcherCase{"OthersAreNoPercentages",
                    answer_of(node("n1", metric("Bandwidth", "AVG", "3e9") + "," + metric("Energy", "AVG", "3e9"))),
                    "n1=?/?"},
        WatcherCase{"AboveHundred", answer_of(node("n1", metric("CPU", "AVG", "130"))), "n1=130/?"},
        WatcherCase{"Negative", answer_of(node("n1", metric("CPU", "AVG", "-1"))), "n1=?/? | 1 value is negative"},
        WatcherCase{"Words", answer_of(node("n1", metric("CPU", "AVG", "\"x\""))), "n1=?/? | 1 value is not a number"},
        WatcherCase{"PortIsCutOff", answer_of(node("10.0.0.1:9100", metric("CPU", "AVG", "1"))), "10.0.0.1=1/?"},
        WatcherCase{"TwiceWithPorts",
                    answer_of(node("n1:1", metric("CPU", "AVG", "1")) + "," + node("n1:2", metric("CPU", "AVG", "2"))),
                    "n1=?/? | more than one value for n1"},
        WatcherCase{"NoNodes", answer_of(""), ""},
        WatcherCase{"SchemaFileOfTheProject", R"({"timestamp":1,"data":{"n1":{"metrics":[]}}})",
                    "error: the response is not from load-watcher: it has no data.NodeMetricsMap"},
        WatcherCase{
            "PlainText", "no metrics",
            "error: the response is not the expected JSON (The JSON element does not have the requested type.)"},
        WatcherCase{"Html", "<html>",
                    "error: the response is HTML or XML, not JSON: does the URL lead to a proxy or a login page?"}),
    [](const auto& test) { return test.param.name; });

TEST(LoadWatcherAnswer, TimeIsTheWindowsEnd) {
  usage::Rows rows(usage::kLoadWatcherWidth);
  std::string answer = answer_of(node("n1", metric("CPU", "AVG", "1")));
  ASSERT_TRUE(usage::read_load_watcher(answer, rows));
  EXPECT_EQ(base::format_time(rows.rows[0].time), "2025-11-21T12:00:00Z");
}

TEST(LoadWatcherAnswer, WithoutAWindowTheTimestampCounts) {
  usage::Rows rows(usage::kLoadWatcherWidth);
  std::string answer = R"({"data":{"NodeMetricsMap":{"n1":{"metrics":[]}}},"timestamp":1763726460})";
  ASSERT_TRUE(usage::read_load_watcher(answer, rows));
  EXPECT_EQ(base::format_time(rows.rows[0].time), "2025-11-21T12:01:00Z");
}

TEST(LoadWatcherAnswer, FiguresAreMeansOverItsWindow) {
  usage::Rows rows(usage::kLoadWatcherWidth);
  std::string answer = answer_of("");
  ASSERT_TRUE(usage::read_load_watcher(answer, rows));
  EXPECT_EQ(rows.window, base::minutes(15));
  usage::Rows endless(usage::kLoadWatcherWidth);
  answer = R"({"window":{"start":1,"end":1763726400},"data":{"NodeMetricsMap":{}}})";
  ASSERT_TRUE(usage::read_load_watcher(answer, endless));
  EXPECT_EQ(endless.window, base::Duration{});
}

}  // namespace usage_load_watcher_test
