#include "cmd/session/usage_view.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace usage_view_test {

using base::seconds;
using testing::HasSubstr;
using testing::Not;

const base::TimePoint kNow = base::parse_time("2026-11-23T12:00:00Z").value();

api::Node node(const std::string& name) {
  api::Node made;
  made.meta.name = name;
  made.allocatable = {{"cpu", api::Quantity::from_units(4)}, {"memory", api::Quantity::from_units(8LL << 30)}};
  return made;
}

cmd::UsageAnswer answer() {
  api::UsageSource source;
  source.name = "server";
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}, {"memory", usage::Unit::kAmount}, {"psi", usage::Unit::kPercent}};
  samples.nodes = {{"a", kNow - seconds(12), {1.5, 2.0 * (1LL << 30), 12.34}},
                   {"old", kNow - seconds(600), {1, 1, 1}},
                   {"strange", kNow, {1, usage::kUnknown, 1}}};
  samples.problems = {"query psi: 3 samples are NaN"};
  return {"balance", source, samples};
}
const std::vector<api::Node> kNodes = {node("a"), node("missing"), node("old")};

TEST(UsageView, ShowsAmountsSharesAgesAndWhyANodeDoesNotCount) {
  const std::string text = cmd::render_usage(answer(), kNodes, kNow);
  EXPECT_EQ(text,
            "POLICY balance, SOURCE server (MetricsServer): 3 nodes, 0 pods\nWarning: query psi: 3 samples are "
            "NaN\nNODE      CPU           MEMORY        PSI     AGE   PROBLEM\na         1500m (38%)   2.0Gi (25%)   "
            "12.3%   12s   -\nmissing   -             -             -       -     the source has no data for it\nold   "
            "    1000m (25%)   0.0Gi (0%)    1.0%    10m   older than maxAge 2m\nstrange   1000m         ?             "
            "1.0%    0s    the cluster does not contain the node\n");
}

/// A native histogram has neither value nor time.
TEST(UsageView, OmitsTheAgeOfASampleWithoutATime) {
  cmd::UsageAnswer timeless = answer();
  timeless.samples->columns.resize(1);
  timeless.samples->nodes = {{"a", {}, {usage::kUnknown}}, {"old", {}, {1.5}}};
  const std::string text = cmd::render_usage(timeless, kNodes, kNow);
  EXPECT_THAT(text, testing::ContainsRegex("a +[?] +- +no usable value"));
  EXPECT_THAT(text, testing::ContainsRegex("old +1500m .38%. +- +its sample has no time"));
  EXPECT_FALSE(cmd::usage_json(timeless, kNodes, kNow)["nodes"][0].contains("ageSeconds"));
}

TEST(UsageView, ShowsWhyASourceDoesNotAnswer) {
  const cmd::UsageAnswer failed{"balance", answer().source, base::unavailable("no answer: timeout")};
  EXPECT_EQ(cmd::render_usage(failed, kNodes, kNow),
            "POLICY balance, SOURCE server (MetricsServer): no answer: timeout\n");
  EXPECT_EQ(cmd::usage_json(failed, kNodes, kNow)["problem"], "no answer: timeout");
}

/// Sources and scraped targets control these strings.
TEST(UsageView, EscapesControlCharacters) {
  const std::string hostile = "\033]0;owned\a\nnode-1\u202e";
  cmd::UsageAnswer strange = answer();
  strange.samples->nodes[0].name = hostile;
  strange.samples->problems = {hostile};
  strange.source.endpoint.url = hostile;
  const cmd::UsageAnswer failed{"balance", strange.source, base::unavailable(hostile)};
  const std::string shown = " ]0;owned  node-1 ";
  const std::string text = cmd::render_usage(strange, kNodes, kNow) + cmd::render_usage(failed, kNodes, kNow);
  for (const char* steering : {"\033", "\a", "\u202e"}) EXPECT_THAT(text, Not(HasSubstr(steering)));
  EXPECT_THAT(text, HasSubstr("Warning: " + shown + "\n"));
  EXPECT_THAT(text, HasSubstr("\n" + shown));
  EXPECT_THAT(text, HasSubstr("): " + shown + "\n"));
}

TEST(UsageView, IsTheSameForPrograms) {
  const api::Json json = cmd::usage_json(answer(), kNodes, kNow);
  ASSERT_EQ(json["nodes"].size(), 4U);
  EXPECT_EQ(json["nodes"][0]["usage"]["cpu"], 1.5);
  EXPECT_EQ(json["nodes"][0]["ageSeconds"], 12);
  EXPECT_EQ(json["nodes"][1]["problem"], "the source has no data for it");
  EXPECT_TRUE(json["nodes"][3]["usage"]["memory"].is_null());
}

}  // namespace usage_view_test
