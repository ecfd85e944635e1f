#include "controllers/observability/tracing/tracing_config.hpp"

#include <gmock/gmock.h>

#include "controllers/operator/operator_config.hpp"

namespace tracing_config_test {

using controllers::parse_operator_config;
using controllers::TracingConfig;
using testing::HasSubstr;
using testing::Not;

TEST(TracingConfigTest, IsOffByDefault) { EXPECT_FALSE(parse_operator_config("")->tracing.is_on()); }

TEST(TracingConfigTest, IsRead) {
  const auto config = parse_operator_config(R"(
tracing:
  endpoint: https://collector.example:4318/v1/traces
  caFile: /ca.pem
  headersFile: /etc/otel/headers
  samplingPercent: 12.5
  timeout: 3s
)");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tracing, (TracingConfig{"https://collector.example:4318/v1/traces", false, "/ca.pem",
                                            "/etc/otel/headers", 12.5, base::seconds(3)}));
  EXPECT_TRUE(config->tracing.is_on());
  EXPECT_FALSE(parse_operator_config("tracing: {endpoint: 'https://a/b', samplingPercent: 0}")->tracing.is_on());
}

struct TracingCase {
  const char* name;
  const char* section;
  const char* complaint;  ///< nullptr if the section is valid
};
class TracingSection : public testing::TestWithParam<TracingCase> {};

TEST_P(TracingSection, IsTakenOrRefusedWithTheField) {
  const auto config = parse_operator_config(std::string("tracing: {") + GetParam().section + "}\n");
  ASSERT_EQ(config.ok(), GetParam().complaint == nullptr) << (config ? "" : config.error().message);
  if (config) return;
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().complaint));
  EXPECT_THAT(config.error().message, Not(HasSubstr("SECRET")));
}

INSTANTIATE_TEST_SUITE_P(
    With, TracingSection,
    testing::Values(
        TracingCase{"HttpToThisMachine", "endpoint: 'http://127.0.0.1:4318/v1/traces'", nullptr},
        TracingCase{"HttpToAnother", "endpoint: 'http://collector:4318/v1/traces'", "tracing.endpoint: must be https"},
        TracingCase{"HttpToAnotherThatIsAllowed", "endpoint: 'http://collector:4318/v1/traces', insecure: true",
                    nullptr},
        TracingCase{"SecretsInTheClear", "endpoint: 'http://collector:4318/v1/traces', headersFile: /h",
                    "tracing.endpoint: must be https"},
        TracingCase{"SecretsInTheClearIfTheirSecretPermits",
                    "endpoint: 'http://collector:4318/v1/traces', insecure: true, headersFile: /h", nullptr},
        TracingCase{"SecretsOnThisMachine", "endpoint: 'http://localhost:4318/v1/traces', headersFile: /h", nullptr},
        TracingCase{"NoPath", "endpoint: 'https://collector:4318'", "tracing.endpoint: must have a path"},
        TracingCase{"NoScheme", "endpoint: 'collector:4318/v1/traces'", "tracing.endpoint: must be a URL"},
        TracingCase{"APassword", "endpoint: 'https://u:SECRET@c/v1/traces'", "tracing.endpoint: must not contain"},
        TracingCase{"AQuery", "endpoint: 'https://c/v1/traces?key=SECRET'", "tracing.endpoint: must not have a query"},
        TracingCase{"Grpc", "endpoint: 'grpc://SECRET:4317/x'", "tracing.endpoint: must be a URL"},
        TracingCase{"TooManyPercent", "samplingPercent: 101", "tracing.samplingPercent: must be from 0 to 100"},
        TracingCase{"NotANumber", "samplingPercent: all", "tracing.samplingPercent"},
        TracingCase{"NoPatience", "timeout: 1ms", "tracing.timeout: must be from 1s to 30s"},
        TracingCase{"ACertificateForHttp", "endpoint: 'http://127.0.0.1/v1/traces', caFile: /ca",
                    "tracing.caFile: requires an https endpoint"},
        TracingCase{"HeadersInPlace", "headersFile: 'Authorization: SECRET'", "tracing.headersFile: must be the path"},
        TracingCase{"AnUnknownField", "url: 'https://a/b'", "tracing.url"}),
    [](const auto& test) { return test.param.name; });

TEST(ClaimConfig, IsOnByDefaultAndMayBeSwitchedOff) {
  EXPECT_EQ(parse_operator_config("")->leader_election.claim_ns, "kube-system");
  EXPECT_EQ(parse_operator_config("leaderElection: {claimNamespace: ''}")->leader_election.claim_ns, "");
  EXPECT_THAT(parse_operator_config("leaderElection: {claimNamespace: 'A b'}").error().message,
              HasSubstr("leaderElection.claimNamespace: must be the name of a namespace"));
}

}  // namespace tracing_config_test
