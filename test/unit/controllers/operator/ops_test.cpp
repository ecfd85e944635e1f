#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/evacuation/metrics.hpp"
#include "controllers/operator/operator_config.hpp"

namespace controllers {
namespace ops_test {

using testing::HasSubstr;

TEST(EvacuationMetrics, CountAFinishedEvacuationOnce) {
  base::Metrics metrics;
  evacuation::PrometheusMetrics series(metrics);
  api::Evacuation before;
  before.status.phase = api::EvacuationPhase::kVerifying;
  before.status.evictor = "eviction-api";
  before.status.phase_entered_at = base::TimePoint(base::seconds(10));
  api::Evacuation after = before;
  after.status.phase = api::EvacuationPhase::kSucceeded;
  after.status.reason = "Evicted";
  series.on_status(before, after, base::TimePoint(base::seconds(12)));
  series.on_status(after, after, base::TimePoint(base::seconds(13)));
  EXPECT_THAT(
      metrics.render(),
      HasSubstr(
          R"(evacuator_evacuations_total{adapter="",evictor="eviction-api",reason="Evicted",result="Succeeded"} 1)"));
}

TEST(EvacuationMetrics, KeepTheGaugeOfPhases) {
  base::Metrics metrics;
  evacuation::PrometheusMetrics series(metrics);
  api::Evacuation pending;
  api::Evacuation done;
  done.status.phase = api::EvacuationPhase::kSucceeded;
  series.on_cached(nullptr, &pending);
  series.on_cached(&pending, &done);
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_evacuations{phase="Pending"} 0)"));
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_evacuations{phase="Succeeded"} 1)"));
  series.on_cached(&done, nullptr);
  EXPECT_THAT(metrics.render(), HasSubstr(R"(evacuator_evacuations{phase="Succeeded"} 0)"));
}

TEST(OperatorConfig, HasTheDocumentedDefaults) {
  const auto config = parse_operator_config("");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->in_flight.total, (api::IntOrPercent{5, false}));
  EXPECT_EQ(config->in_flight.per_node, (api::IntOrPercent{2, false}));
  EXPECT_EQ(config->in_flight.per_target_node, (api::IntOrPercent{2, false}));
  EXPECT_EQ(config->in_flight.per_workload, (api::IntOrPercent{1, false}));
  EXPECT_EQ(config->in_flight.per_namespace, (api::IntOrPercent{2, false}));
  EXPECT_EQ(config->slot_without_progress, base::minutes(10));
  EXPECT_EQ(config->manual.priority, 1000);
  EXPECT_EQ(config->manual.suspended, std::chrono::hours(168));
  EXPECT_EQ(config->manual.ttl_after_finished, std::chrono::hours(168));
  EXPECT_EQ(config->cooldown.virtual_machine, base::Duration(std::chrono::minutes(15)));
  EXPECT_EQ(config->cooldown.pod, std::nullopt);
  EXPECT_EQ(config->cooldown.maximum, std::chrono::hours(6));
  EXPECT_EQ(config->leader_election.lease_duration, base::seconds(15));
}

TEST(OperatorConfig, ReadsEveryField) {
  const auto config = parse_operator_config(R"(
limits: {inFlight: {total: "10%", perNode: 3, perNamespace: 4, perWorkload: "20%", perTargetNode: 6, perZone: "30%"}, rate: {perMinute: 30, burst: 4},
         slotWithoutProgress: 5m, maxProgress: 2h, manual: {priority: 7, suspended: 0s, ttlAfterFinished: 10m},
         cooldown: {pod: 1m, workload: 2m, virtualMachine: 0s, maximum: 1h, window: 24h}}
leaderElection: {enabled: false, namespace: ops, name: x, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 5s}
client: {qps: 500, burst: 1000}
server: {healthAddress: "127.0.0.1:1", metricsAddress: "127.0.0.1:2", metricsCertFile: /tls.crt, metricsKeyFile: /tls.key}
logging: {level: debug, format: json}
workers: 7
responder: {enabled: true}
extender: {servesHints: true}
webhook: {enabled: true, address: "127.0.0.1:3", serviceName: s, configurationName: c, secretName: t, rotateAfter: 2h, allowRequired: true, certFile: /a, keyFile: /b, clientCAFile: /c}
)");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->in_flight.total, (api::IntOrPercent{10, true}));
  EXPECT_EQ(config->in_flight.per_workload, (api::IntOrPercent{20, true}));
  EXPECT_EQ(config->in_flight.per_target_node, (api::IntOrPercent{6, false}));
  EXPECT_EQ(config->in_flight.per_zone, (api::IntOrPercent{30, true}));
  EXPECT_EQ(config->rate, (api::RateLimit{{}, 30, 4}));
  EXPECT_EQ(config->slot_without_progress, base::minutes(5));
  EXPECT_EQ(config->max_progress, std::chrono::hours(2));
  EXPECT_EQ(config->manual, (OperatorConfig::Manual{7, base::Duration(0), base::minutes(10)}));
  EXPECT_EQ(config->cooldown, (api::CooldownLimits{base::minutes(1), base::Duration(0), base::minutes(2),
                                                   std::chrono::hours(1), std::chrono::hours(24)}));
  EXPECT_FALSE(config->leader_election.enabled);
  EXPECT_EQ(config->qps, 500);
  EXPECT_EQ(config->server, (OperatorConfig::Server{"127.0.0.1:1", "127.0.0.1:2", "/tls.crt", "/tls.key"}));
  EXPECT_EQ(config->log_format, base::LogFormat::kJson);
  EXPECT_EQ(config->workers, 7);
  EXPECT_TRUE(config->responder_enabled);
  EXPECT_EQ(config->webhook, (OperatorConfig::Webhook{true, "127.0.0.1:3", "s", "c", "t", std::chrono::hours(2), true,
                                                      "/a", "/b", "/c"}));
  EXPECT_TRUE(config->extender_serves_hints);
}

struct BadConfig {
  const char* name;
  const char* yaml;
  const char* complaint;
};
class BadOperatorConfig : public testing::TestWithParam<BadConfig> {};
TEST_P(BadOperatorConfig, NamesTheField) {
  const auto config = parse_operator_config(GetParam().yaml);
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().complaint));
}
INSTANTIATE_TEST_SUITE_P(
    OperatorConfig, BadOperatorConfig,
    testing::Values(
        BadConfig{"Unknown", "limit: {}", "limit: unknown field"},
        BadConfig{"Percent", "limits: {inFlight: {total: 101%}}", "limits.inFlight.total"},
        BadConfig{"ProgressNeedsAMinute", "limits: {maxProgress: 0s}", "limits.maxProgress"},
        BadConfig{"ASlotNeedsAMinute", "limits: {slotWithoutProgress: 59s}", "limits.slotWithoutProgress"},
        BadConfig{"NoNegativePriority", "limits: {manual: {priority: -1}}", "limits.manual.priority"},
        BadConfig{"NobodyReleasesInASecond", "limits: {manual: {suspended: 1s}}", "limits.manual.suspended"},
        BadConfig{"AYearIsLongEnough", "limits: {manual: {ttlAfterFinished: 9000h}}", "limits.manual.ttlAfterFinished"},
        BadConfig{"NoPercentHere", "limits: {inFlight: {perNamespace: 10%}}", "limits.inFlight.perNamespace"},
        BadConfig{"Cooldown", "limits: {cooldown: {pod: 200h}}", "limits.cooldown.pod"},
        BadConfig{"Window", "limits: {cooldown: {window: 1s}}", "limits.cooldown.window"},
        BadConfig{"NoMaximum", "limits: {cooldown: {maximum: 0s}}", "limits.cooldown.maximum"},
        BadConfig{"Backoff", "limits: {cooldown: {backoff: 3}}", "unknown field"},
        BadConfig{"RateOfNothing", "limits: {rate: {burst: 3}}", "limits.rate: must have either"},
        BadConfig{"RateTwice", "limits: {rate: {perSecond: 1, perMinute: 1}}", "limits.rate: must have either"},
        BadConfig{"NoBurst", "limits: {rate: {perSecond: 1, burst: 0}}", "limits.rate.burst"},
        BadConfig{"Deadline", "leaderElection: {renewDeadline: 20s}", "leaderElection.leaseDuration"},
        BadConfig{"OldAddress", "server: {address: 0.0.0.0:8080}", "server.address: unknown field"},
        BadConfig{"NoPort", "server: {healthAddress: localhost}", "server.healthAddress"},
        BadConfig{"HalfACertificate", "server: {metricsCertFile: /tls.crt}", "server.metricsCertFile"},
        BadConfig{"NoWebhookPort", "webhook: {address: localhost}", "webhook.address"},
        BadConfig{"HalfAWebhookCertificate", "webhook: {keyFile: /tls.key}", "webhook.certFile"},
        BadConfig{"RotatedTooLate", "webhook: {rotateAfter: 2000h}", "webhook.rotateAfter"},
        BadConfig{"NoService", "webhook: {serviceName: a.b}", "webhook.serviceName"},
        BadConfig{"Level", "logging: {level: loud}", "logging.level"}, BadConfig{"Workers", "workers: 0", "workers"},
        BadConfig{"NoYaml", "a: [", ""}),
    [](const auto& test) { return test.param.name; });

}  // namespace ops_test
}  // namespace controllers
