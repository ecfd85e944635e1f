// What config/ promises: least privilege, two careful replicas, a configuration that the operator takes. Runs with
// ctest.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/yaml.hpp"
#include "controllers/config/operator_config.hpp"
#include "controllers/ops/cluster_claim.hpp"
#include "test/e2e/harness/process.hpp"

namespace e2e {
namespace config_test {

using Json = nlohmann::json;

std::string below_config(const std::string& name) { return std::string(EVACUATOR_SOURCE_DIR) + "/config/" + name; }

std::vector<Json> documents(const std::string& text) {
  auto parsed = api::parse_yaml(text);
  if (!parsed) ADD_FAILURE() << parsed.error().message;
  return parsed ? *std::move(parsed) : std::vector<Json>();
}

std::vector<Json> manifests(const std::string& name) { return documents(read_file(below_config(name))); }

/// The verbs that the rules give on a resource.
std::set<std::string> verbs_on(const Json& role, const std::string& group, const std::string& resource) {
  std::set<std::string> verbs;
  for (const Json& rule : role.at("rules")) {
    const auto groups = rule.at("apiGroups").get<std::set<std::string>>();
    const auto resources = rule.at("resources").get<std::set<std::string>>();
    if (groups.contains(group) && resources.contains(resource))
      verbs.merge(rule.at("verbs").get<std::set<std::string>>());
  }
  return verbs;
}

using Verbs = std::set<std::string>;
const Verbs kReads{"list", "watch"};

struct GrantCase {
  const char* name;
  const char* group;
  const char* resource;
  Verbs want;
};

class GrantTest : public ::testing::TestWithParam<GrantCase> {};

TEST_P(GrantTest, IsExactlyWhatTheOperatorNeeds) {
  const Json role = manifests("rbac/operator_role.yaml").at(0);
  EXPECT_EQ(verbs_on(role, GetParam().group, GetParam().resource), GetParam().want);
}

TEST(UserRoles, LetExplainReadTheOperatorsLimits) {
  const auto roles = manifests("rbac/user_roles.yaml");
  const auto role = std::find_if(roles.begin(), roles.end(),
                                 [](const Json& each) { return each["metadata"]["name"] == "evacuator-config-view"; });
  ASSERT_NE(role, roles.end());
  EXPECT_EQ((*role)["metadata"]["namespace"], "evacuator-system") << "of no other ConfigMaps";
  EXPECT_EQ(verbs_on(*role, "", "configmaps"), (Verbs{"get", "list"}));
}

INSTANTIATE_TEST_SUITE_P(
    OperatorRole, GrantTest,
    ::testing::Values(
        GrantCase{"PodsAreNeitherDeletedNorWritten", "", "pods", {"get", "list", "watch"}},
        GrantCase{"PodsAreEvicted", "", "pods/eviction", {"create"}},
        GrantCase{"PodStatusIsTheKubelets", "", "pods/status", {}}, GrantCase{"NodesAreRead", "", "nodes", kReads},
        GrantCase{"NamespacesAreRead", "", "namespaces", kReads},
        GrantCase{"ClaimsAreRead", "", "persistentvolumeclaims", {"get", "list", "watch"}},
        GrantCase{"VolumesAreRead", "", "persistentvolumes", kReads},
        GrantCase{"SecretsAreNobodysBusiness", "", "secrets", {}},
        GrantCase{"VirtualMachinesAreRead", "kubevirt.io", "virtualmachineinstances", {"get"}},
        GrantCase{"MigrationsAreTakenBack", "kubevirt.io", "virtualmachineinstancemigrations", {"list", "delete"}},
        GrantCase{"VmEvacuationsAreCancelled",
                  "subresources.kubevirt.io",
                  "virtualmachineinstances/evacuate/cancel",
                  {"update"}},
        GrantCase{"AlsoAsTheApiServerReadsThatPath",
                  "subresources.kubevirt.io",
                  "virtualmachineinstances/evacuate",
                  {"update"}},
        GrantCase{"BudgetsAreRead", "policy", "poddisruptionbudgets", kReads},
        GrantCase{"PrioritiesAreRead", "scheduling.k8s.io", "priorityclasses", kReads},
        GrantCase{"StorageClassesAreRead", "storage.k8s.io", "storageclasses", kReads},
        GrantCase{"AttachLimitsAreRead", "storage.k8s.io", "csinodes", kReads},
        GrantCase{"AttachedVolumesAreRead", "storage.k8s.io", "volumeattachments", kReads},
        GrantCase{"DriversAreRead", "storage.k8s.io", "csidrivers", kReads},
        GrantCase{"StorageThatIsLeftIsRead", "storage.k8s.io", "csistoragecapacities", kReads},
        GrantCase{"AllocatedDevicesAreRead", "resource.k8s.io", "resourceclaims", kReads},
        GrantCase{"ReplicaSetsAreRead", "apps", "replicasets", kReads},
        GrantCase{"StatefulSetsAreRead", "apps", "statefulsets", kReads},
        GrantCase{"EvacuationsAreOurs",
                  "evacuator.dev",
                  "evacuations",
                  {"get", "list", "watch", "create", "patch", "delete"}},
        GrantCase{"EvacuationStatusToo", "evacuator.dev", "evacuations/status", {"patch"}},
        GrantCase{"PoliciesAreThePeoples", "evacuator.dev", "deschedulerpolicies", {"get", "list", "watch"}},
        GrantCase{"PolicyStatusIsOurs", "evacuator.dev", "deschedulerpolicies/status", {"patch"}},
        GrantCase{
            "EvictionsAreRequested", "lifecycle.k8s.io", "evictionrequests", {"get", "create", "patch", "delete"}},
        GrantCase{"NativeEvictionsAreRead", "lifecycle.k8s.io", "evictions", {"get", "list", "watch"}},
        GrantCase{"AndAnsweredInTheirStatus", "lifecycle.k8s.io", "evictions/status", {"patch"}},
        GrantCase{"EventsAreWritten", "events.k8s.io", "events", {"create", "patch"}},
        GrantCase{"TheLeaseOfInstallationsIsHeld", "coordination.k8s.io", "leases", {"get", "create", "update"}}),
    [](const auto& info) { return std::string(info.param.name); });

/// Those of the leader election are in one namespace only.
TEST(OperatorRole, NamesTheOneLeaseThatInstallationsKnow) {
  const Json role = manifests("rbac/operator_role.yaml").at(0);
  for (const Json& rule : role.at("rules")) {
    if (rule.at("resources") != Json::array({"leases"})) continue;
    EXPECT_EQ(rule.at("resourceNames"), Json::array({controllers::ClusterClaim::kName}));
  }
}

TEST(OptionalRole, MakesMigrationsAndNothingElse) {
  const Json role = manifests("optional/kubevirt-migrations.yaml").at(0);
  EXPECT_EQ(role.at("rules").size(), 1U);
  EXPECT_EQ(verbs_on(role, "kubevirt.io", "virtualmachineinstancemigrations"), Verbs{"create"});
}

/// What `kubectl apply -f DIRECTORY` reads: the .yaml, .yml and .json files right in it.
std::vector<std::filesystem::path> files_that_apply_reads(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(EVACUATOR_SOURCE_DIR) + "/" + folder)) {
    const std::string ending = entry.path().extension();
    if (ending == ".yaml" || ending == ".yml" || ending == ".json") files.push_back(entry.path());
  }
  return files;
}

class CrdFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(CrdFolder, CanBeAppliedAsItIs) {
  const auto files = files_that_apply_reads(GetParam());
  EXPECT_EQ(files.size(), 3U);
  for (const auto& file : files) {
    for (const Json& document : documents(read_file(file)))
      EXPECT_EQ(document.at("kind"), "CustomResourceDefinition") << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, CrdFolder, ::testing::Values("crds", "crds/legacy"),
                         [](const auto& info) { return std::string(info.param) == "crds" ? "Default" : "Legacy"; });

/// Nobody else may get into the operator's share of the API server, and its lists stay out of it.
TEST(PriorityAndFairness, IsForTheOperatorsLeasesAndEvictionsAlone) {
  const auto documents = manifests("optional/priority-and-fairness.yaml");
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(documents[0].at("kind"), "PriorityLevelConfiguration");
  const Json account = manifests("rbac/service_account.yaml").at(0).at("metadata");
  std::set<std::string> resources;
  for (std::size_t i = 1; i < documents.size(); ++i) {
    EXPECT_EQ(documents[i].at("kind"), "FlowSchema");
    for (const Json& rule : documents[i].at("spec").at("rules")) {
      ASSERT_EQ(rule.at("subjects").size(), 1U);
      const Json& who = rule.at("subjects").at(0).at("serviceAccount");
      EXPECT_EQ(who.at("name"), account.at("name"));
      EXPECT_EQ(who.at("namespace"), account.at("namespace"));
      for (const Json& each : rule.at("resourceRules")) {
        for (const Json& verb : each.at("verbs")) EXPECT_TRUE(verb != "list" && verb != "watch" && verb != "*") << verb;
        for (const Json& resource : each.at("resources")) resources.insert(resource);
      }
    }
  }
  EXPECT_EQ(documents[1].at("spec").at("priorityLevelConfiguration").at("name"), "leader-election");
  EXPECT_EQ(documents[2].at("spec").at("priorityLevelConfiguration").at("name"),
            documents[0].at("metadata").at("name"));
  EXPECT_EQ(resources, (std::set<std::string>{"*", "leases", "pods", "pods/eviction"}));
}

/// Whoever steals the operator's token can change of a pod what this policy lets through, and nothing else.
TEST(PodWriteLimits, ConcernTheOperatorsAccountAndDenyAllButAnnotations) {
  const auto documents = manifests("optional/pod-write-limits.yaml");
  ASSERT_EQ(documents.size(), 2U);
  const Json& spec = documents[0].at("spec");
  EXPECT_EQ(documents[0].at("apiVersion"), "admissionregistration.k8s.io/v1");
  EXPECT_EQ(spec.at("failurePolicy"), "Fail");
  EXPECT_EQ(spec.at("matchConstraints").at("resourceRules").at(0).at("resources"), Json::array({"pods"}));
  EXPECT_EQ(spec.at("matchConstraints").at("resourceRules").at(0).at("operations"), Json::array({"UPDATE"}));
  const Json account = manifests("rbac/service_account.yaml").at(0).at("metadata");
  EXPECT_EQ(spec.at("matchConditions").at(0).at("expression"),
            "request.userInfo.username == 'system:serviceaccount:" + account.at("namespace").get<std::string>() + ":" +
                account.at("name").get<std::string>() + "'");
  std::string all;
  for (const Json& each : spec.at("validations")) all += each.at("expression").get<std::string>() + "\n";
  for (const char* part : {"object.spec == oldObject.spec", "object.metadata.labels", "object.metadata.finalizers",
                           "object.metadata.ownerReferences", "variables.changed.all(k, k in variables.allowed)"})
    EXPECT_NE(all.find(part), std::string::npos) << part;
  EXPECT_EQ(documents[1].at("spec").at("policyName"), documents[0].at("metadata").at("name"));
  EXPECT_EQ(documents[1].at("spec").at("validationActions"), Json::array({"Deny"}));
}

TEST(OperatorRole, UsesNoWildcards) {
  for (const Json& role : manifests("rbac/operator_role.yaml")) EXPECT_EQ(role.dump().find("\"*\""), std::string::npos);
}

TEST(LeaderElectionRole, NamesTheOneLeaseOfTheConfiguration) {
  const auto config = controllers::parse_operator_config(read_file(below_config("manager/config.yaml")));
  ASSERT_TRUE(config) << config.error().message;
  const Json role = manifests("rbac/leader_election_role.yaml").at(0);
  EXPECT_EQ(role.at("kind"), "Role");
  EXPECT_EQ(role.at("metadata").at("namespace"), config->leader_election.ns);
  for (const Json& rule : role.at("rules")) {
    if (rule.at("verbs") == Json::array({"create"})) continue;  // a create has no name yet
    EXPECT_EQ(rule.at("resourceNames"), Json::array({config->leader_election.name}));
  }
}

TEST(SigningRole, NamesTheOneSecretOfTheConfiguration) {
  const auto config = controllers::parse_operator_config(read_file(below_config("manager/config.yaml")));
  ASSERT_TRUE(config) << config.error().message;
  const Json role = manifests("rbac/signing_role.yaml").at(0);
  EXPECT_EQ(role.at("kind"), "Role") << "of no other namespace";
  EXPECT_EQ(role.at("metadata").at("namespace"), config->leader_election.ns);
  EXPECT_EQ(verbs_on(role, "", "secrets"), (Verbs{"create", "get", "update"})) << "and never list";
  for (const Json& rule : role.at("rules")) {
    if (rule.at("verbs") == Json::array({"create"})) continue;  // a create has no name yet
    EXPECT_EQ(rule.at("resourceNames"), Json::array({config->signing.secret}));
  }
}

struct WebhookRoleCase {
  const char* folder;
  std::vector<std::string> kinds;  ///< of webhook configurations
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
                         [](const auto& info) {
                           return std::string(info.param.folder).starts_with("placement") ? "Placement" : "Admission";
                         });

TEST(PlacementWebhook, StandsInNobodysWay) {
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

/// Only who makes something new has to wait for an answer.
TEST(AdmissionWebhook, HoldsUpNothingButCreations) {
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

TEST(PolicyChecks, RefuseAndWarnWithoutAWebhook) {
  const auto documents = manifests("optional/policy-checks.yaml");
  ASSERT_EQ(documents.size(), 4U);
  for (std::size_t i = 0; i < documents.size(); i += 2) {
    EXPECT_EQ(documents[i].at("kind"), "ValidatingAdmissionPolicy");
    EXPECT_EQ(documents[i].at("spec").at("failurePolicy"), "Ignore");
    EXPECT_EQ(documents[i + 1].at("spec").at("policyName"), documents[i].at("metadata").at("name"));
  }
  EXPECT_EQ(documents[1].at("spec").at("validationActions"), Json::array({"Deny"}));
  EXPECT_EQ(documents[3].at("spec").at("validationActions"), Json::array({"Warn", "Audit"}));
}

TEST(UserRoles, LetNobodyReadSecrets) {
  for (const Json& role : manifests("rbac/user_roles.yaml")) EXPECT_EQ(verbs_on(role, "", "secrets"), Verbs{});
}

TEST(Configuration, IsTheDocumentedDefaultAndValid) {
  const auto config = controllers::parse_operator_config(read_file(below_config("manager/config.yaml")));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(controllers::validate(*config).empty());
  const controllers::OperatorConfig defaults;
  EXPECT_EQ(config->in_flight, defaults.in_flight);
  EXPECT_EQ(config->slot_without_progress, defaults.slot_without_progress);
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
  const auto config = controllers::parse_operator_config(read_file(below_config("manager/config.yaml")));
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

TEST_F(Manager, TellsItsMetricsOnlyToThoseWhoMayGetThem) {
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

// ---------------------------------------------------------------- kustomize

class Rendered : public ::testing::Test {
 protected:
  void SetUp() override {
    const Finished probe = run({"kubectl", "kustomize", below_config("rbac")});
    if (probe.exit_code == 127 || !probe.ok()) GTEST_SKIP() << "no kubectl with a kustomize: " << probe.err;
  }

  static std::map<std::string, Json> render(const std::string& overlay) {
    const Finished done = run({"kubectl", "kustomize", below_config(overlay)});
    EXPECT_TRUE(done.ok()) << done.err;
    std::map<std::string, Json> objects;
    for (Json& object : documents(done.out)) {
      const std::string key =
          object.at("kind").get<std::string>() + "/" + object.at("metadata").at("name").get<std::string>();
      objects[key] = std::move(object);
    }
    return objects;
  }
};

TEST_F(Rendered, DefaultHoldsEverything) {
  const auto objects = render("default");
  for (const char* key : {"Namespace/evacuator-system", "CustomResourceDefinition/evacuations.evacuator.dev",
                          "CustomResourceDefinition/deschedulerpolicies.evacuator.dev",
                          "CustomResourceDefinition/resourceadvices.evacuator.dev", "ServiceAccount/evacuator",
                          "ClusterRole/evacuator-operator", "Role/evacuator-leader-election", "Role/evacuator-signing",
                          "Deployment/evacuator"}) {
    EXPECT_TRUE(objects.contains(key)) << key;
  }
  EXPECT_EQ(objects.at("PodDisruptionBudget/evacuator").at("apiVersion"), "policy/v1");
  EXPECT_EQ(objects.at("Deployment/evacuator").at("spec").at("template").at("spec").at("containers").at(0).at("image"),
            "evacuator:0.1.0");
}

TEST_F(Rendered, LegacyIsForServersWithoutPolicyV1AndCel) {
  const auto objects = render("legacy");
  ASSERT_TRUE(objects.contains("PodDisruptionBudget/evacuator"));
  EXPECT_EQ(objects.at("PodDisruptionBudget/evacuator").at("apiVersion"), "policy/v1beta1");
  for (const auto& [key, object] : objects)
    EXPECT_EQ(object.dump().find("x-kubernetes-validations"), std::string::npos) << key;
  EXPECT_EQ(objects.size(), render("default").size());
}

}  // namespace config_test
}  // namespace e2e
