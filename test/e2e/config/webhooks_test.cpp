// Checks the webhooks of config/: rights on their own Secret and configurations only, and no blocking of other
// requests.

#include "test/e2e/config/manifests.hpp"

namespace e2e::config_test {

struct WebhookRoleCase {
  const char* folder;
  std::vector<std::string> kinds;  ///< kinds of webhook configurations
  std::string configuration;
};

class WebhookRole : public ::testing::TestWithParam<WebhookRoleCase> {};

TEST_P(WebhookRole, NamesTheOneSecretAndItsConfigurations) {
  const controllers::OperatorConfig defaults;
  const auto documents = manifests(std::string(GetParam().folder) + "/role.yaml");
  const Json& role = documents.at(0);
  EXPECT_EQ(role.at("kind"), "Role") << "of no other namespace";
  EXPECT_EQ(verbs_on(role, "", "secrets"), (Verbs{"create", "get", "update"})) << "and never list";
  EXPECT_EQ(role.at("rules").at(1).at("resourceNames"), Json::array({defaults.webhook.secret}));
  const Json& cluster_role = documents.at(2);
  EXPECT_EQ(cluster_role.at("rules").size(), 1U);
  for (const std::string& kind : GetParam().kinds)
    EXPECT_EQ(verbs_on(cluster_role, "admissionregistration.k8s.io", kind), (Verbs{"get", "patch"}));
  EXPECT_EQ(cluster_role.at("rules").at(0).at("resourceNames"), Json::array({GetParam().configuration}));
}

INSTANTIATE_TEST_SUITE_P(Config, WebhookRole,
                         ::testing::Values(WebhookRoleCase{"placement-webhook",
                                                           {"mutatingwebhookconfigurations"},
                                                           controllers::OperatorConfig().webhook.configuration},
                                           WebhookRoleCase{
                                               "admission-webhook",
                                               {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
                                               controllers::OperatorConfig().webhook.admission.configuration}),
                         [](const auto& test) {
                           return std::string(test.param.folder).starts_with("placement") ? "Placement" : "Admission";
                         });

TEST(PlacementWebhook, BlocksNoRequests) {
  const controllers::OperatorConfig defaults;
  const Json configuration = manifests("placement-webhook/webhook.yaml").at(0);
  EXPECT_EQ(configuration.at("metadata").at("name"), defaults.webhook.configuration);
  ASSERT_EQ(configuration.at("webhooks").size(), 1U);
  const Json& webhook = configuration.at("webhooks").at(0);
  EXPECT_EQ(webhook.at("failurePolicy"), "Ignore");
  EXPECT_EQ(webhook.at("timeoutSeconds"), 1);
  EXPECT_EQ(webhook.at("sideEffects"), "None");
  EXPECT_EQ(webhook.at("reinvocationPolicy"), "Never");
  EXPECT_EQ(webhook.at("rules").size(), 1U);
  EXPECT_EQ(webhook.at("rules").at(0).at("operations"), Json::array({"CREATE"}));
  EXPECT_EQ(webhook.at("rules").at(0).at("resources"), Json::array({"pods"}));
  const Json& spared = webhook.at("namespaceSelector").at("matchExpressions").at(0);
  EXPECT_EQ(spared.at("operator"), "NotIn");
  EXPECT_EQ(spared.at("values"), Json::array({"kube-system", "evacuator-system"}));
  const Json service = manifests("placement-webhook/service.yaml").at(0);
  EXPECT_EQ(webhook.at("clientConfig").at("service").at("name"), service.at("metadata").at("name"));
  EXPECT_EQ(service.at("metadata").at("name"), defaults.webhook.service);
  EXPECT_TRUE(defaults.webhook.address.ends_with(":" + service.at("spec").at("ports").at(0).at("targetPort").dump()));
}

/// Only creations wait for an answer.
TEST(AdmissionWebhook, BlocksOnlyCreations) {
  const controllers::OperatorConfig defaults;
  const auto documents = manifests("admission-webhook/webhook.yaml");
  ASSERT_EQ(documents.size(), 2U);
  const Json service = manifests("admission-webhook/service.yaml").at(0);
  EXPECT_EQ(service.at("metadata").at("name"), defaults.webhook.admission.service);
  for (const Json& configuration : documents) {
    EXPECT_EQ(configuration.at("metadata").at("name"), defaults.webhook.admission.configuration);
    for (const Json& webhook : configuration.at("webhooks")) {
      EXPECT_EQ(webhook.at("clientConfig").at("service").at("name"), defaults.webhook.admission.service);
      EXPECT_EQ(webhook.at("sideEffects"), "None");
      const Json& operations = webhook.at("rules").at(0).at("operations");
      if (webhook.at("failurePolicy") == "Fail") {
        EXPECT_EQ(operations, Json::array({"CREATE"})) << webhook.at("name");
      }
      EXPECT_EQ(operations.dump().find("DELETE"), std::string::npos) << webhook.at("name");
      EXPECT_EQ(webhook.at("rules").at(0).at("resources"), Json::array({"deschedulerpolicies", "evacuations"}));
    }
  }
  EXPECT_EQ(documents.at(1).at("webhooks").at(0).at("failurePolicy"), "Ignore");
}

}  // namespace e2e::config_test
