#include "controllers/policy/usage/report.hpp"

#include <gmock/gmock.h>

#include "test/builders/cluster.hpp"
#include "test/builders/measured.hpp"

namespace usage_report_test {

using builders::Measured;
using controllers::UsageHealth;
using controllers::UsageReport;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string usage_condition(const std::vector<UsageReport>& reports) {
  std::vector<api::Condition> conditions;
  controllers::set_usage_condition(conditions, reports, 3, {});
  return conditions.empty() ? std::string("none") : conditions[0].reason + ": " + conditions[0].message;
}

UsageReport report_of(const std::string& source, std::int32_t unknown) {
  UsageReport report;
  report.source = source;
  report.nodes = 10;
  report.unknown = unknown;
  report.max_unknown_percent = 30;
  if (unknown > 0) report.examples = {"n-1: its newest sample is 7m old"};
  return report;
}

TEST(UsageReport, MakesTheConditionOfThePolicy) {
  UsageReport failing = report_of("c", 10);
  failing.has_answered = false;
  failing.problem = "no answer: timeout";
  EXPECT_EQ(usage_condition({}), "none");
  EXPECT_EQ(usage_condition({report_of("a", 3)}), "FreshSamples: 1 of 1 sources have recent samples of enough nodes");
  EXPECT_EQ(
      usage_condition({report_of("a", 3), report_of("b", 4)}),
      "SamplesMissing: b: 4 of 10 nodes have no usable sample, the maximum is 30 %: n-1: its newest sample is 7m old");
  EXPECT_EQ(usage_condition({report_of("b", 4), failing}), "SourceFailing: c: no answer: timeout");
}

TEST(UsageReport, OfASourceThatFailsSaysSoWhileItsSamplesAreGoodStill) {
  UsageReport report = report_of("prom", 0);
  report.problem = "HTTP 401: wrong";
  EXPECT_EQ(usage_condition({report_of("a", 0), report}),
            "FreshSamples: 2 of 2 sources have recent samples of enough nodes; prom: last answer: HTTP 401: wrong");
  report.unknown = 4;
  report.examples = {"n-1: its newest sample is 3m old"};
  EXPECT_EQ(usage_condition({report}),
            "SourceFailing: prom: 4 of 10 nodes have no usable sample, the maximum is 30 %: n-1: its newest sample is "
            "3m old; last answer: HTTP 401: wrong");
}

TEST(UsageReport, NamesTheResourceThatIsMissing) {
  UsageReport report = report_of("prom", 1);
  report.gaps = {{"cpu", 3, {}}, {"memory", 4, {"n-2", "n-3", "n-4"}}};
  report.complaints = {"query memory: no data", "x"};
  EXPECT_EQ(usage_condition({report}),
            "SamplesMissing: prom: 4 of 10 nodes have no usable value of memory, the maximum is 30 %: n-2, n-3, n-4; "
            "query memory: no data; x");
}

TEST(UsageReport, IsBounded) {
  std::vector<UsageReport> reports(1000, report_of("prom", 0));
  for (UsageReport& each : reports) each.complaints.assign(5, std::string(400, 'x'));
  EXPECT_LT(usage_condition(reports).size(), 10'000U);
}

TEST(UsageReport, CountsNodesByMissingData) {
  builders::ClusterBuilder cluster;
  for (const char* name : {"a", "b", "c", "d"}) cluster.add(builders::NodeBuilder(name));
  const auto measured = Measured("prom", {"cpu", "memory"})
                            .node("a", {1000, 1000})
                            .node("b", {1000, scheduling::kUnknownUsage})
                            .node("c", {1000, 1000})
                            .problem("its newest sample is 7m old")
                            .build();
  const UsageReport report =
      usage_report(measured, UsageHealth{"", {"odd"}, {"cpu", "memory"}}, *cluster.build(), std::nullopt);
  EXPECT_EQ(report.nodes, 4);
  EXPECT_EQ(report.unknown, 2);
  EXPECT_THAT(report.examples, ElementsAre("c: its newest sample is 7m old", "d: the source has no data for it"));
  EXPECT_THAT(report.gaps, ElementsAre(UsageReport::Gap{"cpu", 2, {}}, UsageReport::Gap{"memory", 3, {"b"}}));
  EXPECT_THAT(report.complaints, ElementsAre("odd"));
}

// --- ForecastTrusted

std::string forecast_condition(const usage::ForecastQuality& quality) {
  std::vector<api::Condition> conditions;
  controllers::set_forecast_condition(conditions, {{"prom", quality}}, 3, {});
  return conditions.at(0).reason + ": " + conditions.at(0).message;
}

TEST(ForecastReport, HasBothErrors) {
  EXPECT_THAT(forecast_condition({5, 8, 0.78, 0.57}),
              AllOf(HasSubstr("BetterThanNaive: prom: the forecasts of 5 of 8 series"),
                    HasSubstr("error 0.78 of that of \"as now\", 0.57 of that of \"as yesterday\"")));
  EXPECT_THAT(forecast_condition({0, 8, 1.25, usage::kUnknown}),
              AllOf(HasSubstr("WorseThanNaive: "), HasSubstr("error 1.25 of that of \"as now\""),
                    Not(HasSubstr("of that of \"as yesterday\""))));
  EXPECT_EQ(forecast_condition({}), "TooLittleHistory: prom: too little history to evaluate forecasts");
}

}  // namespace usage_report_test
