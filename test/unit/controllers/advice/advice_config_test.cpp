#include "controllers/advice/advice_config.hpp"

#include <gmock/gmock.h>

#include "controllers/operator/operator_config.hpp"

namespace controllers {
namespace advice_config_test {

using testing::HasSubstr;

TEST(AdviceConfig, IsOffByDefault) {
  EXPECT_FALSE(parse_operator_config("")->resource_advice.enabled);
  EXPECT_EQ(parse_operator_config("resourceAdvice: {}\n")->resource_advice, ResourceAdviceConfig{});
}

TEST(AdviceConfig, ReadsEveryField) {
  const auto config = parse_operator_config(R"(
resourceAdvice:
  enabled: true
  source: MetricsServer
  profile: Percentile
  percentile: 99
  interval: 1h
  sampleInterval: 2m
  startup: 10m
  namespaceSelector: {matchLabels: {advice: "yes"}}
  maxWorkloads: 50
)");
  ASSERT_TRUE(config) << config.error().message;
  ResourceAdviceConfig want;
  want.enabled = true;
  want.profile = advisor::Profile::kPercentile;
  want.percentile = 99;
  want.interval = std::chrono::hours(1);
  want.sample_interval = base::minutes(2);
  want.startup = base::minutes(10);
  want.namespaces = api::LabelSelector{{{"advice", api::SelectorOperator::kIn, {"yes"}}}};
  want.max_workloads = 50;
  EXPECT_EQ(config->resource_advice, want);
}

struct BadAdvice {
  const char* field;
  const char* want;
};
class BadAdviceConfig : public testing::TestWithParam<BadAdvice> {};
TEST_P(BadAdviceConfig, IsRefusedByField) {
  const auto config = parse_operator_config(std::string("resourceAdvice: {") + GetParam().field + "}\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Config, BadAdviceConfig,
    testing::Values(BadAdvice{"source: Prometheus", "resourceAdvice.source"},
                    BadAdvice{"profile: Fast", "resourceAdvice.profile"},
                    BadAdvice{"percentile: 0", "resourceAdvice.percentile: must be above 0"},
                    BadAdvice{"percentile: 101", "resourceAdvice.percentile"},
                    BadAdvice{"interval: 1m", "resourceAdvice.interval: must be from 5m to 24h"},
                    BadAdvice{"sampleInterval: 1s", "resourceAdvice.sampleInterval: must be from 15s to 15m"},
                    BadAdvice{"interval: 5m, sampleInterval: 10m", "resourceAdvice.sampleInterval: must not be longer"},
                    BadAdvice{"startup: 2h", "resourceAdvice.startup"},
                    BadAdvice{"maxWorkloads: 0", "resourceAdvice.maxWorkloads: must be from 1 to 5000"},
                    BadAdvice{"namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}",
                              "resourceAdvice.namespaceSelector"},
                    BadAdvice{"apply: true", "resourceAdvice.apply"}));

}  // namespace advice_config_test
}  // namespace controllers
