#include "cmd/explain/cycles.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cmd/explain/opinion.hpp"

namespace cmd::plugin {
namespace plugin_explain_cycles_test {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

/// Returns a policy with five cycles, five minutes apart, the last one at noon.
api::DeschedulerPolicy policy_with(std::vector<api::PastDecision> decisions) {
  api::DeschedulerPolicy policy;
  policy.meta.name = "tidy";
  for (int i = 1; i <= 5; ++i)
    policy.status.history.cycles.push_back({i, kNoon - base::minutes(5 * (5 - i)), 0, 0, {}, i == 2 ? 40 : 0});
  policy.status.history.decisions = std::move(decisions);
  return policy;
}

api::PastDecision decision(bool nominated, std::vector<std::int64_t> cycles, std::string uid = "u-1") {
  api::PastDecision made;
  made.ns = "shop";
  made.pod = "web";
  made.uid = std::move(uid);
  made.nominated = nominated;
  made.node = "n1";
  made.to = nominated ? "n2" : "";
  made.strategy = "PodLifeTime";
  made.reason = nominated ? "" : "NodeLimit";
  made.message = nominated ? "age 3h is above 1h" : "2 of 2 pods of the node";
  if (!nominated) made.wanted = 2;
  made.cycles = std::move(cycles);
  return made;
}

std::string text_of(const std::vector<api::DeschedulerPolicy>& policies, const std::string& uid = "u-1") {
  std::string text;
  for (const CycleVerdict& verdict : cycle_verdicts(policies, {"shop", "web"}, uid)) text += cycle_text(verdict, kNoon);
  return text;
}

TEST(ExplainCycles, PrintsOneLinePerCycleNewestFirst) {
  EXPECT_EQ(text_of({policy_with({decision(true, {4, 5}), decision(false, {1})})}),
            "      0s ago  tidy #5  nominated to n2 (PodLifeTime): age 3h is above 1h\n      5m ago  tidy #4  "
            "nominated to n2 (PodLifeTime): age 3h is above 1h\n     10m ago  tidy #3  no strategy nominated or "
            "refused it\n     15m ago  tidy #2  not among the recorded decisions (40 were not recorded)\n     20m ago  "
            "tidy #1  refused: NodeLimit (PodLifeTime): 2 of 2 pods of the node\n");
}

TEST(ExplainCycles, SaysSoOfAnEarlierPodOfTheName) {
  const auto policies = std::vector{policy_with({decision(true, {5}, "u-0")})};
  EXPECT_THAT(text_of(policies), HasSubstr("age 3h is above 1h [an earlier pod of this name]"));
  EXPECT_THAT(text_of(policies, ""), Not(HasSubstr("earlier pod"))) << "the pod is gone: it is the one";
}

TEST(ExplainCycles, IsSilentAboutPoliciesThatNeverNamedIt) {
  auto other = decision(true, {5});
  other.pod = "web-2";
  EXPECT_THAT(cycle_verdicts({policy_with({other})}, {"shop", "web"}, "u-1"), IsEmpty());
}

TEST(ExplainCycles, GivesTheSameAsData) {
  Explanation explanation;
  explanation.key = {"shop", "web"};
  explanation.cycles = cycle_verdicts({policy_with({decision(false, {5})})}, explanation.key, "");
  const api::Json json = as_json(explanation);
  ASSERT_EQ(json["cycles"].size(), 5U);
  EXPECT_EQ(json["cycles"][0]["decision"], "Refused");
  EXPECT_EQ(json["cycles"][0]["reason"], "NodeLimit");
  EXPECT_EQ(json["cycles"][0]["wanted"], 2);
  EXPECT_EQ(json["cycles"][1]["decision"], "NotNamed");
  EXPECT_EQ(json["cycles"][3]["decision"], "NotKept");
  EXPECT_EQ(json["cycles"][3]["leftOut"], 40);
  EXPECT_EQ(conclusion(explanation), "the pod does not exist; past cycles contain a pod of this name");
  EXPECT_THAT(render(explanation, kNoon, false),
              HasSubstr("The policies' last cycles\n      0s ago  tidy #5  refused"));
}

}  // namespace plugin_explain_cycles_test
}  // namespace cmd::plugin
