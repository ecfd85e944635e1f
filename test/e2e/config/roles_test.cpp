// Checks config/rbac: least privilege, and every right by name. Runs with ctest, like the other tests of this folder.

#include "test/e2e/config/manifests.hpp"

#include <algorithm>

#include "controllers/operator/cluster_claim.hpp"

namespace e2e::config_test {

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
        GrantCase{"SoIsWhetherTheyStartAgain", "kubevirt.io", "virtualmachines", {"get"}},
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
        GrantCase{"PodGroupsAreRead", "scheduling.k8s.io", "podgroups", kReads},
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
    [](const auto& test) { return std::string(test.param.name); });

/// The role of the leader election is limited to one namespace.
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

TEST(OperatorRole, UsesNoWildcards) {
  for (const Json& role : manifests("rbac/operator_role.yaml")) EXPECT_EQ(role.dump().find("\"*\""), std::string::npos);
}

TEST(LeaderElectionRole, NamesTheOneLeaseOfTheConfiguration) {
  const auto config = shipped_configuration();
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
  const auto config = shipped_configuration();
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

TEST(UserRoles, GrantNoAccessToSecrets) {
  for (const Json& role : manifests("rbac/user_roles.yaml")) EXPECT_EQ(verbs_on(role, "", "secrets"), Verbs{});
}

}  // namespace e2e::config_test
