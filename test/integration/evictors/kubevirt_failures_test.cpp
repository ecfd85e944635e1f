#include "test/integration/evictors/kubevirt_scenarios_fixture.hpp"

/// VMs whose migration, guest or objects fail, and answers of KubeVirt that are missing.
namespace kubevirt_failures_test {

using namespace kubevirt_scenarios_fixture;

/// Sets a VirtualMachine with the name of the VMI, which is not stored itself, as its owner.
void own_by_machine(Json& vmi) {
  vmi["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "kubevirt.io/v1"},
                                                     {"kind", "VirtualMachine"},
                                                     {"name", vmi["metadata"]["name"]},
                                                     {"uid", "vm-uid"},
                                                     {"controller", true}}});
}

TEST_F(KubeVirtScenario, NeverStartsEndsWithTheQueueTimeout) {
  begin();
  const std::string pod = machine("db", "never-starts");
  const std::string name = evacuate(pod, once());
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_NE(get(name).status.message.find("queued"), std::string::npos) << get(name).status.message;
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_EQ(mark("db"), "");
}

/// KubeVirt reports the quota only as a condition of the migration, which stays Pending.
TEST_F(KubeVirtScenario, AQuotaThatRefusesTheTargetIsNamed) {
  begin();
  const std::string pod = machine("db", "over-quota");
  const std::string name = evacuate(pod, [](Json& spec) {
    once()(spec);
    spec["timeouts"] = {{"queueSeconds", 300}};
  });
  ASSERT_TRUE(in_progress(name));
  run_for(seconds(30));
  const std::string why = "a ResourceQuota of the namespace refuses its target pod";
  EXPECT_NE(condition_message(name, "Progressing").find(why), std::string::npos)
      << condition_message(name, "Progressing");
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_NE(get(name).status.message.find(why), std::string::npos) << get(name).status.message;
  EXPECT_EQ(mark("db"), "");
}

TEST_F(KubeVirtScenario, UnschedulableTargetCountsAsFailures) {
  begin();
  const std::string pod = machine("db", "unschedulable");
  const std::string name = evacuate(pod, with({{"remoteFailures", "2"}}));
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Scheduling"; }, seconds(60)));
  run_for(seconds(15));
  EXPECT_NE(condition_message(name, "Progressing").find("no node accepts the migration's target pod: "),
            std::string::npos)
      << condition_message(name, "Progressing");
  expect_end(name, Phase::kFailed, "MigrationFailed");
  EXPECT_NE(get(name).status.message.find("no node accepted the migration's target pod: "), std::string::npos)
      << get(name).status.message;
  EXPECT_EQ(mark("db"), "");
}

TEST_F(KubeVirtScenario, MarkTakenAwayByAThirdParty) {
  begin();
  const std::string pod = machine("db", "never-starts");
  const std::string name = evacuate(pod, once());
  ASSERT_TRUE(in_progress(name));
  run_for(seconds(10));
  edit(kube::kVmis, "db", [](Json& object) { object["status"].erase("evacuationNodeName"); });
  for (const auto& each : migrations())
    ASSERT_TRUE(cluster->store().remove(kube::kVmims, {"shop", (*each)["metadata"]["name"]}));
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_EQ(pod_phase(pod), "Running");
}

TEST_F(KubeVirtScenario, GuestShutsDownMidway) {
  begin();
  const std::string pod = machine("db", "run=60s, shutdown=5s");
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(condition(name, "ReplacementReady"), "NotExpected");
}

/// The VirtualMachine starts the guest again, and the Evacuation reports this consistently.
TEST_F(KubeVirtScenario, AGuestThatIsStartedAgainIsItsReplacement) {
  begin();
  const std::string pod = machine("db", "", "None", [](Json& object) {
    own_by_machine(object);
    simulator::objects::annotate(object, simulator::behaviour::kRestartVm, "");
  });
  const std::string source = node_of("db");
  edit(
      kube::kNodes, source, [](Json& object) { object["spec"]["unschedulable"] = true; }, "");
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(condition(name, "ReplacementReady"), "Ready");
  EXPECT_EQ(get(name).status.message, "replaced by db on node " + node_of("db"));
  EXPECT_NE(node_of("db"), source);
}

/// The VirtualMachine and its VM are deleted during the migration. The Evacuation waits for neither.
TEST_F(KubeVirtScenario, AVirtualMachineIsDeletedMidway) {
  begin();
  const std::string pod = machine("db", "run=60s", "LiveMigrate", own_by_machine);
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path != "/apis/kubevirt.io/v1/namespaces/shop/virtualmachines/db") return std::nullopt;
    return kube::Response{404,
                          R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,)"
                          R"("message":"virtualmachines.kubevirt.io \"db\" not found",)"
                          R"("details":{"name":"db","group":"kubevirt.io","kind":"virtualmachines"}})",
                          {},
                          "application/json"};
  };
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  ASSERT_TRUE(cluster->store().remove(kube::kVmis, {"shop", "db"}));
  const auto deleted = clock.now();
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kCancelled);
  EXPECT_EQ(reason(name), "TargetGone");
  EXPECT_EQ(condition(name, "ReplacementReady"), "NotExpected");
  EXPECT_LT(clock.now() - deleted, std::chrono::seconds(90)) << "not until timeouts.verify";
}

TEST_F(KubeVirtScenario, MachineIsDeletedMidway) {
  begin();
  const std::string pod = machine("db", "run=60s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  ASSERT_TRUE(cluster->store().remove(kube::kVmis, {"shop", "db"}));
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kSucceeded);
}

TEST_F(KubeVirtScenario, VirtApiDownThenUp) {
  begin();
  const std::string pod = machine("db");
  edit(
      kube::kKubeVirts, "kubevirt",
      [](Json& object) { simulator::objects::annotate(object, simulator::behaviour::kVirtApi, "down"); }, "kubevirt");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "WebhookDown"; }, seconds(30)));
  edit(
      kube::kKubeVirts, "kubevirt", [](Json& object) { object["metadata"].erase("annotations"); }, "kubevirt");
  expect_end(name, Phase::kSucceeded, "Migrated");
}

TEST_F(KubeVirtScenario, DryRunMarksNothing) {
  begin();
  const std::string pod = machine("db");
  const std::string name = evacuate(pod, [](Json& spec) { spec["dryRun"] = true; });
  expect_end(name, Phase::kSucceeded, "DryRun");
  EXPECT_EQ(mark("db"), "");
  EXPECT_TRUE(migrations().empty());
}

TEST_F(KubeVirtScenario, DryRunMakesNoMigration) {
  begin();
  const std::string pod = machine("db", "", "None");
  const std::string name = evacuate(pod, [](Json& spec) {
    with({{"mode", "Migration"}})(spec);
    spec["dryRun"] = true;
  });
  expect_end(name, Phase::kSucceeded, "DryRun");
  EXPECT_TRUE(migrations().empty());
  EXPECT_EQ(pod_phase(pod), "Running");
}

TEST_F(KubeVirtScenario, UnreadableMachineIsLeftAlone) {
  begin();
  const std::string pod = machine("db");
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path.find("/virtualmachineinstances/") == std::string::npos) return std::nullopt;
    return kube::Response{403, R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden"})", {}, ""};
  };
  const std::string name = evacuate(pod, with(Json::object(), 3));
  expect_end(name, Phase::kFailed, "Forbidden");
  EXPECT_TRUE(evictions().empty());
}

}  // namespace kubevirt_failures_test
