#include "cmd/advise/risk_rows.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cmd/advise/placement_view.hpp"

namespace cmd::advise {
namespace risk_rows_test {

using advisor::Cause;
using advisor::Finding;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Finding missing(const std::string& ns, const std::string& name, std::int32_t pods = 3) {
  return {.cause = Cause::kMissingBudget,
          .ns = ns,
          .kind = "Deployment",
          .name = name,
          .pods = pods,
          .why = "no PodDisruptionBudget covers these pods",
          .change = "add a PodDisruptionBudget"};
}

TEST(RiskRows, OfFewWorkloadsNameEach) {
  const auto rows = risk_rows({missing("shop", "web"), missing("shop", "api"), missing("db", "ui")});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0], (RiskRow{"MissingBudget", "Deployment shop/web", 3, "no PodDisruptionBudget covers these pods",
                              "add a PodDisruptionBudget", 1}));
}

TEST(RiskRows, OfOneNamespaceAreOneWithTheFirstNames) {
  std::vector<Finding> findings;
  for (int i = 0; i < 12; ++i) findings.push_back(missing("shop", fmt::format("w{:02}", 11 - i)));
  findings.push_back(missing("db", "ui", 2));
  const auto rows = risk_rows(findings);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].what, "shop: 12 workloads (w00, w01, w02 and 9 more)");
  EXPECT_EQ(rows[0].pods, 36);
  EXPECT_EQ(rows[1].what, "Deployment db/ui") << "one alone keeps its kind";
}

TEST(RiskRows, OfFiveHundredWorkloadsFitOnAScreen) {
  advisor::PlacementReport report;
  for (int i = 0; i < 500; ++i)
    report.findings.push_back(missing(fmt::format("team-{:02}", i % 40), fmt::format("w{}", i)));
  for (int i = 0; i < 30; ++i) {
    Finding single = missing("lone", fmt::format("s{}", i), 1);
    single.cause = Cause::kSingleReplica;
    report.findings.push_back(single);
  }
  const auto rows = risk_rows(report.findings);
  ASSERT_THAT(rows, SizeIs(kMaxRiskNamespaces + 1));
  EXPECT_EQ(rows[0].what, "team-00: 13 workloads (w0, w120, w160 and 10 more)");
  EXPECT_EQ(rows[kMaxRiskNamespaces - 1].what, "33 more namespaces: 409 workloads");
  EXPECT_EQ(rows.back().what, "lone: 30 workloads (s0, s1, s10 and 27 more)");
  std::int32_t pods = 0;
  for (const RiskRow& row : rows) pods += row.pods;
  EXPECT_EQ(pods, 500 * 3 + 30) << "nothing is lost";
  EXPECT_THAT(placement_text(report), HasSubstr("(-o json lists each workload)"));
}

TEST(RiskRows, SayThatReasonsDiffer) {
  std::vector<Finding> findings;
  for (int i = 0; i < 6; ++i) findings.push_back(missing("shop", fmt::format("w{}", i)));
  findings[3].why = "another";
  EXPECT_EQ(risk_rows(findings)[0].why, "such as no PodDisruptionBudget covers these pods");
}

TEST(RiskRows, OmitEffectiveRisksAndControlCharacters) {
  std::vector<Finding> findings;
  for (int i = 0; i < 6; ++i) findings.push_back(missing("sh\x1b[2Jop", fmt::format("w\x1b[{}", i)));
  findings.push_back(missing("shop", "web"));
  findings.back().cause = Cause::kBarePod;
  const auto rows = risk_rows(findings);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0].what, Not(HasSubstr("\x1b")));
}

}  // namespace risk_rows_test
}  // namespace cmd::advise
