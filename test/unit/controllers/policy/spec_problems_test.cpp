#include "controllers/policy/spec_problems.hpp"
#include "controllers/evacuation/spec_problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace controllers {
namespace spec_problems_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const evictors::EvictorRegistry kRegistry = evictors::EvictorRegistry::builtin();

template <typename Spec>
std::vector<std::string> problems(const Spec& spec) {
  std::vector<std::string> lines;
  for (const api::FieldError& each : problems_of(spec, kRegistry)) lines.push_back(each.to_string());
  return lines;
}

TEST(SpecProblems, ReportAnInvalidStrategyNameOnce) {
  const struct {
    const char* name;
    const char* problem;
  } rows[] = {
      {"", "spec.strategies[0].name: is required"},
      {"PodLifetime", "spec.strategies[0].name: \"PodLifetime\" is not a strategy"},
  };
  for (const auto& row : rows) {
    api::DeschedulerPolicySpec spec;
    spec.strategies = {{row.name, "{}"}};
    EXPECT_THAT(problems(spec), ElementsAre(HasSubstr(row.problem))) << row.name;
  }
}

TEST(SpecProblems, ReportAnInvalidEvictorNameOnce) {
  const struct {
    const char* what;
    std::vector<api::EvictorChoice> evictors;
    const char* problem;
  } rows[] = {
      {"unnamed", {{"", {}}}, "evictors[0].name: is required"},
      {"unknown", {{"eviction-ap", {}}}, "evictors[0].name: unknown evictor \"eviction-ap\", use "},
      {"twice", {{"eviction-api", {}}, {"eviction-api", {}}}, "evictors[1].name: \"eviction-api\" is already at "},
  };
  for (const auto& row : rows) {
    api::EvacuationSpec evacuation;
    evacuation.pod_ref = {"web-0", api::PodUid{"uid"}};
    evacuation.evictors = row.evictors;
    EXPECT_THAT(problems(evacuation), ElementsAre(HasSubstr(row.problem))) << row.what;
    api::DeschedulerPolicySpec policy;
    policy.strategies = {{"RemoveFailedPods", "{}"}};
    policy.evacuation.evictors = row.evictors;
    EXPECT_THAT(problems(policy), ElementsAre(HasSubstr(std::string("spec.evacuation.") + row.problem))) << row.what;
  }
}

TEST(SpecProblems, OfAllChecksAreReportedTogether) {
  api::DeschedulerPolicySpec spec;
  spec.limits.per_cycle.total = -1;
  spec.strategies = {{"", "{}"}, {"RemoveFailedPods", R"({"speed":1,"haste":2})"}};
  spec.evacuation.evictors = {{"eviction-api", {{"speed", "1"}}}};
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("spec.strategies[0].name: is required"),
                                          HasSubstr("spec.limits.perCycle.total: -1 is below 0"),
                                          HasSubstr("spec.strategies[1].args.haste: unknown field"),
                                          HasSubstr("spec.strategies[1].args.speed: unknown field"),
                                          HasSubstr("spec.evacuation.evictors[0].parameters.speed: ")));
}

TEST(SpecProblems, NameTheSchedulesFields) {
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"RemoveFailedPods", "{}"}};
  spec.schedule.time_zone = "Mars/Base";
  spec.schedule.cron = "0 0 30 2 *";
  EXPECT_THAT(problems(spec), ElementsAre(HasSubstr("spec.schedule.timeZone: \"Mars/Base\" is not a time zone"),
                                          HasSubstr("spec.schedule.cron: \"0 0 30 2 *\" never matches")));
}

TEST(SpecProblems, NameTriggersWithoutTheirSource) {
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"RemoveFailedPods", "{}"}};
  spec.schedule.triggers = {{api::TriggerKind::kUsageSpike, base::seconds(30), "prom", "cpu", 80}};
  EXPECT_THAT(problems(spec), ElementsAre("spec.schedule.triggers[0].source: there is no source \"prom\" in "
                                          "spec.usageSources"));
}

/// Such addresses are rejected, and the message must not contain the password.
TEST(SpecProblems, NameGatesWithAnInvalidAddress) {
  const struct {
    const char* url;
    const char* problem;
  } rows[] = {
      {"http://ops:secret@calendar/hold", "url: must not contain a user name or a password"},
      {"https://calendar/hold?token=secret", "url: the URL must not contain a query"},
      {"http://calendar/\r\nX-Forged: 1", "url: the URL must not contain a query, fragment or blank"},
      {"http://", "url: the URL has no valid host"},
      {"calendar", "url: is required and begins with http:// or https://"},
  };
  for (const auto& row : rows) {
    api::DeschedulerPolicySpec spec;
    spec.strategies = {{"RemoveFailedPods", "{}"}};
    api::PolicyGate& gate = spec.gates.emplace_back();
    gate.name = "freeze";
    gate.type = api::GateType::kWebhook;
    gate.endpoint.url = row.url;
    EXPECT_THAT(problems(spec), ElementsAre(HasSubstr(std::string("spec.gates[0].webhook.") + row.problem)));
  }
}

TEST(SpecProblems, AreEmptyForAValidSpec) {
  api::DeschedulerPolicySpec policy;
  policy.strategies = {{"RemoveFailedPods", "{}"}};
  EXPECT_THAT(problems(policy), IsEmpty());
  api::EvacuationSpec evacuation;
  EXPECT_THAT(problems(evacuation), Not(IsEmpty())) << "it names no pod";
  evacuation.pod_ref = {"web-0", api::PodUid{"uid"}};
  EXPECT_THAT(problems(evacuation), IsEmpty());
}

}  // namespace spec_problems_test
}  // namespace controllers
