// Checks config/manager: two replicas with safe settings, and a valid operator configuration.

#include "test/e2e/config/manifests.hpp"

namespace e2e::config_test {

TEST(Configuration, IsTheDocumentedDefaultAndValid) {
  const auto config = shipped_configuration();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(controllers::validate(*config).empty());
  const controllers::OperatorConfig defaults;
  EXPECT_EQ(config->in_flight, defaults.in_flight);
  EXPECT_EQ(config->slot_without_progress, defaults.slot_without_progress);
  EXPECT_EQ(config->max_progress, defaults.max_progress);
  EXPECT_EQ(config->manual, defaults.manual);
  EXPECT_EQ(config->qps, defaults.qps);
  EXPECT_EQ(config->burst, defaults.burst);
  EXPECT_EQ(config->workers, defaults.workers);
  EXPECT_EQ(config->signing, defaults.signing);
  EXPECT_EQ(config->server, defaults.server);
  EXPECT_EQ(config->webhook, defaults.webhook);
  EXPECT_EQ(config->leader_election.lease_duration, defaults.leader_election.lease_duration);
  EXPECT_EQ(config->leader_election.renew_deadline, defaults.leader_election.renew_deadline);
  EXPECT_EQ(config->leader_election.retry_period, defaults.leader_election.retry_period);
}

class Manager : public ::testing::Test {
 protected:
  const Json deployment_ = manifests("manager/deployment.yaml").at(0);
  const Json pod_ = deployment_.at("spec").at("template");
  const Json container_ = pod_.at("spec").at("containers").at(0);
};

TEST_F(Manager, RunsTwoReplicasApartUnderItsOwnAccount) {
  EXPECT_EQ(deployment_.at("spec").at("replicas"), 2);
  EXPECT_EQ(pod_.at("spec").at("serviceAccountName"), "evacuator");
  EXPECT_TRUE(pod_.at("spec").at("affinity").contains("podAntiAffinity"));
  EXPECT_TRUE(pod_.at("spec").contains("topologySpreadConstraints"));
}

TEST_F(Manager, MeetsTheRestrictedPodSecurityStandard) {
  EXPECT_EQ(pod_.at("spec").at("securityContext").at("runAsNonRoot"), true);
  EXPECT_EQ(pod_.at("spec").at("securityContext").at("seccompProfile").at("type"), "RuntimeDefault");
  const Json& context = container_.at("securityContext");
  EXPECT_EQ(context.at("allowPrivilegeEscalation"), false);
  EXPECT_EQ(context.at("readOnlyRootFilesystem"), true);
  EXPECT_EQ(context.at("capabilities").at("drop"), Json::array({"ALL"}));
}

TEST_F(Manager, IsProbedWhereItServes) {
  EXPECT_EQ(container_.at("livenessProbe").at("httpGet").at("path"), "/healthz");
  EXPECT_EQ(container_.at("readinessProbe").at("httpGet").at("path"), "/readyz");
  const auto config = shipped_configuration();
  ASSERT_TRUE(config);
  const auto port = [&](const char* name) {
    for (const Json& each : container_.at("ports")) {
      if (each.at("name") == name) return ":" + each.at("containerPort").dump();
    }
    return std::string("none");
  };
  for (const char* probe : {"livenessProbe", "readinessProbe"})
    EXPECT_EQ(container_.at(probe).at("httpGet").at("port"), "health");
  EXPECT_TRUE(config->server.health_address.ends_with(port("health"))) << config->server.health_address;
  EXPECT_TRUE(config->server.metrics_address.ends_with(port("metrics"))) << config->server.metrics_address;
  EXPECT_EQ(manifests("manager/service.yaml").at(0).at("spec").at("ports").at(0).at("targetPort"), "metrics");
}

TEST_F(Manager, ServesItsMetricsToAuthorizedClientsOnly) {
  const Json policy = manifests("manager/network_policy.yaml").at(0).at("spec");
  EXPECT_EQ(policy.at("podSelector").at("matchLabels"), pod_.at("metadata").at("labels"));
  EXPECT_EQ(policy.at("ingress").at(0).at("ports").at(0).at("port"), "metrics") << "and nothing else";
  EXPECT_EQ(policy.at("ingress").size(), 1U);
  const auto roles = manifests("rbac/metrics_roles.yaml");
  EXPECT_EQ(roles.at(2).at("rules").at(0).at("nonResourceURLs"), Json::array({"/metrics"}));
}

TEST_F(Manager, IsFoundByItsBudgetAndItsService) {
  const Json labels = pod_.at("metadata").at("labels");
  EXPECT_EQ(manifests("manager/pod_disruption_budget.yaml").at(0).at("spec").at("selector").at("matchLabels"), labels);
  EXPECT_EQ(manifests("manager/service.yaml").at(0).at("spec").at("selector"), labels);
  EXPECT_EQ(deployment_.at("spec").at("selector").at("matchLabels"), labels);
}

}  // namespace e2e::config_test
