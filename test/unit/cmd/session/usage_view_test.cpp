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
            "POLICY balance, SOURCE server (MetricsServer): 3 nodes, 0 pods\n"
            "Warning: query psi: 3 samples are NaN\n"
            "NODE      CPU           MEMORY        PSI     AGE   PROBLEM\n"
            "a         1500m (38%)   2.0Gi (25%)   12.3%   12s   -\n"
            "missing   -             -             -       -     the source does not know it\n"
            "old       1000m (25%)   0.0Gi (0%)    1.0%    10m   older than maxAge 2m\n"
            "strange   1000m         ?             1.0%    0s    the cluster has no such node\n");
}

TEST(UsageView, ShowsWhyASourceDoesNotAnswer) {
  const cmd::UsageAnswer failed{"balance", answer().source, base::unavailable("no answer: timeout")};
  EXPECT_EQ(cmd::render_usage(failed, kNodes, kNow),
            "POLICY balance, SOURCE server (MetricsServer): no answer: timeout\n");
  EXPECT_EQ(cmd::usage_json(failed, kNodes, kNow)["problem"], "no answer: timeout");
}

TEST(UsageView, IsTheSameForPrograms) {
  const api::Json json = cmd::usage_json(answer(), kNodes, kNow);
  ASSERT_EQ(json["nodes"].size(), 4U);
  EXPECT_EQ(json["nodes"][0]["usage"]["cpu"], 1.5);
  EXPECT_EQ(json["nodes"][0]["ageSeconds"], 12);
  EXPECT_EQ(json["nodes"][1]["problem"], "the source does not know it");
  EXPECT_TRUE(json["nodes"][3]["usage"]["memory"].is_null());
}

}  // namespace usage_view_test
