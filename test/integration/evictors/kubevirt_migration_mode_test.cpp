#include "test/integration/evictors/kubevirt_scenarios_fixture.hpp"

/// Mode Migration: the operator creates the migration, and may choose the node.
namespace kubevirt_migration_mode_test {

using namespace kubevirt_scenarios_fixture;

TEST_F(KubeVirtScenario, MigrationModeMovesAVmWithoutStrategy) {
  begin();
  const std::string pod = machine("db", "run=20s", "None");
  const std::string name =
      evacuate_as_operator(pod, with({{"mode", "Migration"}, {"addedNodeSelector", "kubernetes.io/hostname=node-c"}}));
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_TRUE(evictions().empty());
  ASSERT_EQ(migrations().size(), 1u);
  EXPECT_EQ((*migrations()[0])["metadata"]["name"], "evac-" + get(name).meta.uid + "-1");
  EXPECT_EQ(node_of("db"), "node-c");
}

/// Attack: a namespace editor, who may not migrate VMs, makes the operator move one to a node of the attacker's choice
/// on behalf of a policy. A policy's own Evacuation may do this.
TEST_F(KubeVirtScenario, AnEditorDoesNotChooseTheNodeOfAVmThroughTheOperator) {
  begin();
  const std::string pod = machine("db", "run=20s", "None");
  const Json wish = {{"mode", "Migration"}, {"addedNodeSelector", "kubernetes.io/hostname=node-c"}};
  const std::string name = evacuate(pod, [&](Json& spec) {
    with(wish)(spec);
    spec["source"] = {{"policy", "balance"}};
  });
  expect_end(name, Phase::kFailed, "NotAllowed");
  EXPECT_NE(get(name).status.message.find("addedNodeSelector of evictor kubevirt is allowed only for Evacuations that "
                                          "the operator creates for a policy, or whose creator may create"),
            std::string::npos)
      << get(name).status.message;
  EXPECT_TRUE(migrations().empty());
  EXPECT_EQ(pod_phase(pod), "Running");

  const std::string other = machine("web", "run=20s", "None");
  expect_end(evacuate_as_operator(other, with(wish)), Phase::kSucceeded, "Migrated");
  EXPECT_EQ(node_of("web"), "node-c");
}

/// A user who may migrate VMs may have the operator do it, once the admission webhook has recorded the user.
TEST_F(KubeVirtScenario, AUserWhoMayMigrateChoosesTheNodeOfAVmManually) {
  trusts_creators = true;
  begin();
  install_admission_webhook();
  std::vector<Json> asked;
  replica->transport.lie = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path != "/apis/authorization.k8s.io/v1/subjectaccessreviews") return std::nullopt;
    asked.push_back(Json::parse(request.body)["spec"]);
    const Json answer = {{"status", {{"allowed", asked.back()["user"] == "admin"}}}};
    return kube::Response{201, answer.dump(), {}, "application/json"};
  };
  const Json wish = {{"mode", "Migration"}, {"addedNodeSelector", "kubernetes.io/hostname=node-c"}};
  const std::string refused = evacuate(machine("web", "run=20s", "None"), with(wish));  // created by alice
  expect_end(refused, Phase::kFailed, "NotAllowed");
  EXPECT_TRUE(migrations().empty());
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.front()["user"], "alice");
  EXPECT_EQ(asked.front()["resourceAttributes"]["namespace"], "shop");

  const std::string name = create(evacuation_of(machine("db", "run=20s", "None"), with(wish)), "admin");
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_EQ(node_of("db"), "node-c");
}

/// If other clients than the API server can reach the webhook, a record can be signed for any user.
TEST_F(KubeVirtScenario, RecordsAreIgnoredUnlessTheyAreTrusted) {
  begin();
  install_admission_webhook();
  const Json wish = {{"mode", "Migration"}, {"addedNodeSelector", "kubernetes.io/hostname=node-c"}};
  const std::string name = create(evacuation_of(machine("db", "run=20s", "None"), with(wish)), "admin");
  expect_end(name, Phase::kFailed, "NotAllowed");
}

/// Attack: a user copies an administrator's record to another Evacuation.
TEST_F(KubeVirtScenario, ACopiedRecordOfAnAdministratorIsWorthNothing) {
  trusts_creators = true;
  begin();
  install_admission_webhook();
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path != "/apis/authorization.k8s.io/v1/subjectaccessreviews") return std::nullopt;
    return kube::Response{201, Json{{"status", {{"allowed", true}}}}.dump(), {}, "application/json"};
  };
  const Json wish = {{"mode", "Migration"}, {"addedNodeSelector", "kubernetes.io/hostname=node-c"}};
  const std::string real = create(evacuation_of(machine("db", "run=20s", "None"), with(wish)), "admin");
  const auto stored = cluster->store().get(kube::kEvacuations, {"shop", real});
  const std::string record = (*stored)["metadata"]["annotations"]["evacuator.dev/creator"];
  Json copy = evacuation_of(machine("web", "run=20s", "None"), with(wish));
  copy["metadata"]["annotations"]["evacuator.dev/creator"] = record;
  ASSERT_TRUE(cluster->store().remove(
      {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false},
      {"", "evacuator-admission"}))
      << "nobody overwrites it";
  expect_end(create(copy, "mallory"), Phase::kFailed, "NotAllowed");
}

/// Attack or mistake: this KubeVirt version silently drops the node selector, so the VM could land on any node.
TEST_F(KubeVirtScenario, MigrationModeRefusesALimitThatKubeVirtWouldDrop) {
  begin("v1.5.0");
  const std::string pod = machine("db", "run=20s");
  const std::string name =
      evacuate_as_operator(pod, with({{"mode", "Migration"}, {"addedNodeSelector", "kubernetes.io/hostname=node-c"}}));
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("addedNodeSelector requires KubeVirt 1.6; this is 1.5"), std::string::npos)
      << get(name).status.message;
  EXPECT_TRUE(migrations().empty());
  EXPECT_EQ(pod_phase(pod), "Running");
}

/// If the version is unknown, the API server itself rejects the field.
TEST_F(KubeVirtScenario, MigrationModeAsksStrictlyWhereTheVersionIsUnknown) {
  begin("v1.5.0");
  const std::string pod = machine("db", "run=20s");
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path != "/apis/kubevirt.io/v1/kubevirts") return std::nullopt;
    return kube::Response{403, R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden"})", {}, ""};
  };
  const std::string name =
      evacuate_as_operator(pod, with({{"mode", "Migration"}, {"addedNodeSelector", "kubernetes.io/hostname=node-c"}}));
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("unknown field \"spec.addedNodeSelector\""), std::string::npos)
      << get(name).status.message;
  EXPECT_TRUE(migrations().empty());
}

TEST_F(KubeVirtScenario, MigrationModeTriesOncePerAttempt) {
  begin();
  const std::string pod = machine("db", "run=5s, fail=1");
  const std::string name = evacuate(pod, with({{"mode", "Migration"}}, 2));
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_EQ(get(name).status.attempt, 2);
  EXPECT_EQ(migrations().size(), 2u);
}

TEST_F(KubeVirtScenario, MigrationModeCancels) {
  begin("v1.6.2");
  const std::string pod = machine("db", "run=600s");
  const std::string name = evacuate(pod, with({{"mode", "Migration"}}));
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete") << "on every version";
  EXPECT_EQ(running_migrations(), 0u);
}

TEST_F(KubeVirtScenario, MigrationModeWaitsForAnInFlightMigration) {
  begin();
  const std::string pod = machine("db", "run=60s, fail=1");
  ASSERT_EQ(user_migrates("db").status, 201);
  const std::string name = evacuate(pod, with({{"mode", "Migration"}}));
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "RetryLater"; }, seconds(30)));
  expect_end(name, Phase::kSucceeded, "Migrated");
}

TEST_F(KubeVirtScenario, MigrationModeRefusesTheUnmigratable) {
  begin();
  const std::string pod = machine("db", "", "None", [](Json& object) {
    simulator::objects::annotate(object, simulator::behaviour::kNotMigratable,
                                 "DisksNotLiveMigratable: no shared disk");
  });
  expect_end(evacuate(pod, with({{"mode", "Migration"}})), Phase::kFailed, "NotEvictable");
  EXPECT_EQ(pod_phase(pod), "Running");
}

TEST_F(KubeVirtScenario, MigrationObjectDeletedUnderUs) {
  begin();
  const std::string pod = machine("db", "run=600s");
  const std::string name = evacuate(pod, with({{"mode", "Migration"}}));
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  ASSERT_TRUE(cluster->store().remove(kube::kVmims, {"shop", "evac-" + get(name).meta.uid + "-1"}));
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kFailed);
  EXPECT_EQ(running_migrations(), 0u);
}

}  // namespace kubevirt_migration_mode_test
