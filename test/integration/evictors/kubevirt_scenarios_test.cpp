#include "test/integration/evictors/kubevirt_scenarios_fixture.hpp"

/// Scenarios 16–27, by number, and related cases.
namespace kubevirt_scenarios_test {

using namespace kubevirt_scenarios_fixture;

TEST_F(KubeVirtScenario, S16_SuccessAndTheSourceIsNeverDeleted) {
  begin("v1.9.0");
  const std::string pod = machine("db", "run=30s");
  const std::string source = node_of("db");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(in_progress(name));
  EXPECT_EQ(get(name).status.evictor, "kubevirt");
  EXPECT_EQ(get(name).status.adapter, "eviction");
  const auto target_column = [&] {
    return api::text_at(*cluster->store().get(kube::kEvacuations, {"shop", name}), {"status", "target"});
  };
  EXPECT_EQ(condition(name, "SlotAcquired"), "CapacityReserved");
  EXPECT_EQ(target_column(), "") << "KubeVirt has not chosen yet";
  ASSERT_TRUE(run_until([&] { return get(name).status.progress.value_or(0) >= 50; }, seconds(60)));
  EXPECT_FALSE(get(name).status.target_node.empty());
  EXPECT_EQ(target_column(), get(name).status.target_node.value);
  EXPECT_EQ(api::text_at(*migrations().at(0), {"spec", "priority"}), "system-maintenance");
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_NE(node_of("db"), source);
  EXPECT_EQ(get(name).status.target_node.value, node_of("db"));
  EXPECT_EQ(get(name).status.outcome->replacement->node.value, node_of("db"));
  EXPECT_EQ(get(name).status.progress, 100);
  EXPECT_TRUE(pod_exists(get(name).status.outcome->replacement->name));
  EXPECT_EQ(condition(name, "ReplacementReady"), "Migrated");
  EXPECT_EQ(condition(name, "TargetGone"), "PodTerminal");
  EXPECT_EQ(pod_phase(pod), "Succeeded");
  EXPECT_EQ(granted(), 0u);
  EXPECT_EQ(evictions().size(), 1u);
  run_for(std::chrono::minutes(30));
  EXPECT_EQ(pod_phase(pod), "Succeeded");
}

TEST_F(KubeVirtScenario, S16_RequestedByDecidesThePriority) {
  begin("v1.8.4", "", {"MigrationPriorityQueue"});
  const std::string pod = machine("db", "run=30s");
  const std::string name = evacuate(pod, with({{"requestedBy", "somebody"}}));
  ASSERT_TRUE(run_until([&] { return !migrations().empty(); }, seconds(60)));
  EXPECT_EQ(api::text_at(*migrations().at(0), {"spec", "priority"}), "system-critical");
  expect_end(name, Phase::kSucceeded, "Migrated");
}

TEST_F(KubeVirtScenario, OnlyVmsThatMigrateWaitForCapacity) {
  begin();
  const std::string stays = machine("stays", "", "None");
  const std::string unset = machine("unset", "", "");
  const std::string moves = machine("moves");
  for (const char* node : {"node-a", "node-b", "node-c"})
    edit(
        kube::kNodes, node, [](Json& object) { object["spec"]["unschedulable"] = true; }, "");
  const std::string waiting = evacuate(moves, once());
  const std::string shut_down = evacuate(stays, once());
  const std::string shut_down_by_default = evacuate(unset, once());
  run_for(seconds(150));
  EXPECT_EQ(phase(waiting), Phase::kPending);
  EXPECT_EQ(condition(waiting, "SlotAcquired"), "WaitingCapacity");
  EXPECT_NE(phase(shut_down), Phase::kPending) << "its guest is shut down: no second pod comes";
  EXPECT_NE(phase(shut_down_by_default), Phase::kPending) << "KubeVirt's default is None";
  EXPECT_EQ(granted(), 2u);
  edit(
      kube::kVmis, "moves", [](Json& vmi) { vmi["spec"]["evictionStrategy"] = "None"; }, "shop");
  ASSERT_TRUE(run_until([&] { return phase(waiting) != Phase::kPending; }, seconds(120))) << "it looks again";
}

TEST_F(KubeVirtScenario, S17_FailsTwiceThenSucceeds) {
  begin();
  const std::string pod = machine("db", "run=5s, fail=2, reason=disk full");
  const std::string name = evacuate(pod, once());
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_EQ(get(name).status.remote_failures, 2);
  EXPECT_EQ(get(name).status.attempt, 1);
  EXPECT_TRUE(has_event("MigrationFailed"));
}

TEST_F(KubeVirtScenario, S18_FailsForEver) {
  begin();
  const std::string pod = machine("db", "run=5s, fail=always, reason=disk full");
  const std::string name = evacuate(pod, once());
  expect_end(name, Phase::kFailed, "MigrationFailed");
  EXPECT_NE(get(name).status.message.find("disk full"), std::string::npos) << get(name).status.message;
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_EQ(mark("db"), "");
  EXPECT_EQ(running_migrations(), 0u);
  EXPECT_EQ(calls("virtualmachineinstances", "evacuate/cancel"), std::vector<std::string>{"update 200"});
  run_for(std::chrono::minutes(30));
  EXPECT_EQ(running_migrations(), 0u) << "KubeVirt has stopped trying";
  EXPECT_EQ(pod_phase(pod), "Running");
}

/// For memory alone the limit would be half an hour. KubeVirt extends it for disks that are copied, and so does the
/// operator.
TEST_F(KubeVirtScenario, DisksToCopyGetTheTimeThatKubeVirtGives) {
  begin();
  const std::string pod = machine("db", "run=9000s");
  edit(kube::kVmis, "db", [](Json& vmi) {
    const Json claim = {{"capacity", {{"storage", "100Gi"}}}, {"requests", {{"storage", "100Gi"}}}};
    vmi["status"]["migratedVolumes"] = Json::array({{{"volumeName", "data"}, {"sourcePVCInfo", claim}}});
  });
  const std::string name = evacuate(pod, with({{"remoteFailures", "1"}}));
  expect_end(name, Phase::kSucceeded, "Migrated");
}

TEST_F(KubeVirtScenario, S18_RemoteFailuresIsAParameter) {
  begin();
  const std::string pod = machine("db", "run=5s, fail=always");
  const std::string name = evacuate(pod, with({{"remoteFailures", "1"}}));
  expect_end(name, Phase::kFailed, "MigrationFailed");
  EXPECT_EQ(get(name).status.remote_failures, 1);
}

struct CancelCase {
  const char* phase;
  const char* script;
};
class KubeVirtCancel : public KubeVirtStage, public testing::WithParamInterface<CancelCase> {};

TEST_P(KubeVirtCancel, S19_InEachMigrationPhase) {
  begin();
  const std::string pod = machine("db", GetParam().script);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == GetParam().phase && phase(name) == Phase::kInProgress; },
                        seconds(120)))
      << migration_phase();
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_EQ(mark("db"), "");
  EXPECT_EQ(running_migrations(), 0u);
  EXPECT_EQ(pod_phase(pod), "Running");
  run_for(seconds(5));
  EXPECT_EQ(pods("db"), std::vector<std::string>{pod});
  run_for(std::chrono::minutes(20));
  EXPECT_EQ(running_migrations(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Scenario, KubeVirtCancel,
    testing::Values(CancelCase{"Pending", "never-starts"}, CancelCase{"Scheduling", "unschedulable"},
                    CancelCase{"Scheduled", "scheduled=90s"}, CancelCase{"PreparingTarget", "preparing=90s, abort=3s"},
                    CancelCase{"TargetReady", "ready=90s, abort=3s"}, CancelCase{"Running", "run=600s, abort=20s"}),
    [](const auto& test) { return test.param.phase; });

/// The migration is on the nodes, which hang while they prepare the target. Its deletion does not reach them.
TEST_F(KubeVirtScenario, S19_AHangingPreparationOutlastsTheAbort) {
  begin();
  const std::string pod = machine("db", "preparing=3600s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "PreparingTarget"; }, seconds(120)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "AbortTimeout");
  EXPECT_NE(condition_message(name, "RollbackComplete")
                .find("PreparingTarget: KubeVirt aborts it only after it has started to run"),
            std::string::npos)
      << condition_message(name, "RollbackComplete");
  EXPECT_EQ(mark("db"), "") << "so much was taken back";
}

/// Two causes keep a mark until they end. The condition names them.
TEST_F(KubeVirtScenario, S18_TheDrainTaintKeepsTheMarkOn) {
  begin();
  const std::string pod = machine("db", "run=3600s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  edit(
      kube::kNodes, node_of("db"),
      [](Json& node) {
        node["spec"]["taints"] = Json::array({{{"key", "kubevirt.io/drain"}, {"effect", "NoSchedule"}}});
      },
      "");
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "AbortTimeout");
  EXPECT_NE(condition_message(name, "RollbackComplete").find("while the node has its drain taint"), std::string::npos)
      << condition_message(name, "RollbackComplete");
  EXPECT_EQ(mark("db"), node_of("db"));
}

TEST_F(KubeVirtScenario, S18_AGoneNodeObjectKeepsTheMarkOn) {
  begin();
  const std::string pod = machine("db", "run=3600s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (!request.path.ends_with("/evacuate/cancel")) return std::nullopt;
    return kube::Response{500,
                          R"({"kind":"Status","status":"Failure","code":500,"reason":"InternalError",)"
                          R"("message":"Internal error occurred: nodes \"node-a\" not found"})",
                          {},
                          ""};
  };
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "AbortTimeout");
  EXPECT_NE(condition_message(name, "RollbackComplete").find("only while the VM's node object exists"),
            std::string::npos)
      << condition_message(name, "RollbackComplete");
}

/// virt-api requires a separate right for the cancel and gives no message when it is missing.
TEST_F(KubeVirtScenario, S18_AMissingRightOnTheCancelIsNamed) {
  begin();
  const std::string pod = machine("db", "run=3600s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  edit(
      kube::kKubeVirts, "kubevirt",
      [](Json& object) { simulator::objects::annotate(object, simulator::behaviour::kVirtApi, "unauthorized"); },
      "kubevirt");
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "AbortTimeout");
  EXPECT_NE(condition_message(name, "RollbackComplete").find("lacks update on virtualmachineinstances/evacuate/cancel"),
            std::string::npos)
      << condition_message(name, "RollbackComplete");
}

/// The timeout expires while KubeVirt copies. The mark and the migration are removed on every version that supports it.
class KubeVirtTimeout : public KubeVirtStage, public testing::WithParamInterface<const char*> {};
TEST_P(KubeVirtTimeout, S18_TakesTheMarkOff) {
  begin(GetParam());
  const std::string pod = machine("db", "run=3600s, abort=3s");
  const std::string name = evacuate(pod, [](Json& spec) {
    once()(spec);
    spec["timeouts"] = {{"totalSeconds", 120}};
  });
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete") << condition_message(name, "RollbackComplete");
  EXPECT_EQ(calls("virtualmachineinstances", "evacuate/cancel"), std::vector<std::string>{"update 200"});
  EXPECT_EQ(mark("db"), "");
  run_for(std::chrono::minutes(30));
  EXPECT_EQ(running_migrations(), 0u) << "KubeVirt makes no further one";
  EXPECT_EQ(pod_phase(pod), "Running");
}
INSTANTIATE_TEST_SUITE_P(Scenario, KubeVirtTimeout, testing::Values("v1.7.0", "v1.8.4", "v1.9.0"),
                         [](const auto& test) { return "V1" + std::string(test.param + 3, 1); });

TEST_F(KubeVirtScenario, S20_CancelBefore17LeavesTheMark) {
  begin("v1.6.2");
  const std::string pod = machine("db", "run=600s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "RemoteMarkRemains");
  EXPECT_EQ(running_migrations(), 1u) << "deleting it would only bring the next one";
  EXPECT_TRUE(calls("virtualmachineinstances", "evacuate/cancel").empty());
}

TEST_F(KubeVirtScenario, S20_VersionUnknownIsFoundOutByThePath) {
  begin("v1.6.2");
  const std::string pod = machine("db", "run=600s");
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path != "/apis/kubevirt.io/v1/kubevirts") return std::nullopt;
    return kube::Response{403, R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden"})", {}, ""};
  };
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "RemoteMarkRemains");
  EXPECT_EQ(calls("virtualmachineinstances", "evacuate/cancel"), std::vector<std::string>{"update 404"});
}

/// Hotplugged disks follow their VM.
TEST_F(KubeVirtScenario, APodThatAttachesDisksIsNotEvacuated) {
  begin("v1.6.0");
  const std::string pod = machine("db");
  Json disks = simulator::objects::pod("shop", "hp-volume-1", "100m", "64Mi");
  disks["metadata"]["labels"]["kubevirt.io"] = "hotplug-disk";
  disks["metadata"]["ownerReferences"] = Json::array(
      {{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod}, {"uid", pod_uid(pod)}, {"controller", true}}});
  add(std::move(disks));
  run_for(seconds(10));
  const std::string name = evacuate("hp-volume-1");
  expect_end(name, Phase::kFailed, "InvalidSpec");
  EXPECT_EQ(condition(name, "Accepted"), "ExcludedByPolicy");
  EXPECT_TRUE(evictions().empty()) << "this version would let it go, and the guest would lose its disk";
}

/// Up to 1.8, KubeVirt's evacuation controller keeps to the limits. Since 1.9 its migrations queue.
class KubeVirtQueue : public KubeVirtStage, public testing::WithParamInterface<const char*> {};

TEST_P(KubeVirtQueue, S21_TwentyMigrationsEndWithoutTimeout) {
  limits = {api::IntOrPercent{25, false}, api::IntOrPercent{20, false}, {}, api::IntOrPercent{20, false}};
  begin(GetParam());
  const auto close = [&](bool closed) {
    for (const char* node : {"node-b", "node-c"})
      edit(
          kube::kNodes, node, [&](Json& object) { object["spec"]["unschedulable"] = closed; }, "");
  };
  close(true);
  std::vector<std::string> sources;
  for (int i = 0; i < 20; ++i) sources.push_back(machine("vm-" + std::to_string(i), "run=280s"));
  close(false);
  std::vector<std::string> names;
  for (const std::string& pod : sources) names.push_back(evacuate(pod, once()));
  for (const std::string& name : names) ASSERT_TRUE(in_progress(name)) << get(name).status.message;
  const auto started = clock.now();
  for (const std::string& name : names) expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_GT(clock.now() - started, std::chrono::seconds(2700)) << "longer than any total timeout";
}

INSTANTIATE_TEST_SUITE_P(Scenario, KubeVirtQueue, testing::Values("v1.7.0", "v1.9.0"),
                         [](const auto& test) { return std::string(test.param) == "v1.7.0" ? "V17" : "V19"; });

struct StrategyCase {
  const char* name;
  const char* strategy;
  Phase phase;
  const char* reason;
};
class KubeVirtStrategies : public KubeVirtStage, public testing::WithParamInterface<StrategyCase> {};

TEST_P(KubeVirtStrategies, S22_NotMigratable) {
  begin();
  const std::string pod = machine("db", "external=20s", GetParam().strategy, [](Json& object) {
    simulator::objects::annotate(object, simulator::behaviour::kNotMigratable,
                                 "DisksNotLiveMigratable: no shared disk");
  });
  const std::string name = evacuate(pod, once());
  expect_end(name, GetParam().phase, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(Scenario, KubeVirtStrategies,
                         testing::Values(StrategyCase{"LiveMigrate", "LiveMigrate", Phase::kFailed, "NotEvictable"},
                                         StrategyCase{"IfPossible", "LiveMigrateIfPossible", Phase::kSucceeded,
                                                      "Evicted"},
                                         StrategyCase{"None", "None", Phase::kSucceeded, "Evicted"},
                                         StrategyCase{"Unset", "", Phase::kSucceeded, "Evicted"},
                                         StrategyCase{"External", "External", Phase::kSucceeded, "MovedByOwner"}),
                         [](const auto& test) { return test.param.name; });

/// The message contains the condition's reason, which KubeVirt's answer lacks.
TEST_F(KubeVirtScenario, S22_SaysWhyItCannotMigrate) {
  begin();
  const std::string pod = machine("db", "", "LiveMigrate", [](Json& object) {
    simulator::objects::annotate(object, simulator::behaviour::kNotMigratable,
                                 "HostDeviceNotLiveMigratable: VMI uses a PCI host devices");
  });
  const std::string name = evacuate(pod, once());
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("HostDeviceNotLiveMigratable: VMI uses a PCI host devices"),
            std::string::npos)
      << get(name).status.message;
}

/// A booting guest is not migratable yet. That is neither a failure nor a reason to shut it down.
class KubeVirtBooting : public KubeVirtStage, public testing::WithParamInterface<const char*> {};
TEST_P(KubeVirtBooting, S22_IsWaitedFor) {
  begin("v1.9.0");
  const std::string pod = booting_machine("db", "90s", GetParam());
  const std::string name = evacuate(pod, once());
  run_for(seconds(60));
  EXPECT_FALSE(api::is_terminal(phase(name))) << get(name).status.message;
  EXPECT_EQ(text(vmi("db"), "phase"), "Scheduled");
  expect_end(name, Phase::kSucceeded, "Migrated");
}
INSTANTIATE_TEST_SUITE_P(Scenario, KubeVirtBooting, testing::Values("LiveMigrate", "LiveMigrateIfPossible"),
                         [](const auto& test) { return std::string(test.param); });

/// Evacuations of a policy never shut down a guest. Manual ones do.
TEST_F(KubeVirtScenario, S22_APolicyShutsNoGuestDown) {
  begin();
  const std::string kept = machine("kept", "", "None");
  add({{"apiVersion", "evacuator.dev/v1alpha1"},
       {"kind", "DeschedulerPolicy"},
       {"metadata", {{"name", "balance"}}},
       {"spec",
        {{"mode", "Automatic"},
         {"schedule", {{"interval", "1h"}}},
         {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 8'640'000}}}}})}}}});
  const auto of_policy = [](const Json& parameters) {
    return [=](Json& spec) {
      with(parameters)(spec);
      spec["source"] = {{"policy", "balance"}};
    };
  };
  const std::string name = evacuate_as_operator(kept, of_policy(Json::object()));
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("an eviction would shut down the guest: its evictionStrategy is None"),
            std::string::npos)
      << get(name).status.message;
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(pod_phase(kept), "Running");
  const std::string ended = machine("ended", "", "None");
  expect_end(evacuate_as_operator(ended, of_policy({{"allowShutdown", "true"}})), Phase::kSucceeded, "Evicted");
}

TEST_F(KubeVirtScenario, S23_TargetPodIsDeniedUntilTheHandOver) {
  begin();
  const std::string source = machine("db", "run=60s");
  ASSERT_EQ(user_migrates("db").status, 201);
  ASSERT_TRUE(run_until([&] { return pods("db").size() == 2; }, seconds(30)));
  const auto both = pods("db");
  const std::string target = both[0] == source ? both[1] : both[0];
  const std::string name = evacuate(target);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "RetryLater"; }, seconds(30)));
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_EQ(pod_phase(target), "Succeeded") << "it became the source, and moved on";
  EXPECT_EQ(pod_phase(source), "Succeeded");
}

/// The migration and its target pod fail. Nothing has moved.
TEST_F(KubeVirtScenario, S23_TheEndOfATargetPodIsNoMigration) {
  begin();
  const std::string source = machine("db", "scheduled=30s, run=20s, fail=always");
  const std::string node = node_of("db");
  ASSERT_EQ(user_migrates("db").status, 201);
  ASSERT_TRUE(run_until([&] { return pods("db").size() == 2; }, seconds(30)));
  const auto both = pods("db");
  const std::string target = both[0] == source ? both[1] : both[0];
  const std::string name = evacuate(target);
  ASSERT_TRUE(run_to_end(name));
  EXPECT_NE(reason(name), "Migrated") << get(name).status.message;
  ASSERT_TRUE(get(name).status.outcome);
  EXPECT_NE(get(name).status.outcome->kind, api::OutcomeKind::kMigrated);
  EXPECT_EQ(condition(name, "ReplacementReady"), "NotExpected") << condition_message(name, "ReplacementReady");
  EXPECT_EQ(node_of("db"), node);
  EXPECT_EQ(pod_phase(source), "Running");
}

/// Between arrival and completion only its name shows that the migration is in progress.
TEST_F(KubeVirtScenario, S23_AnArrivedMigrationIsNotTheNextOne) {
  begin("v1.9.0");
  const std::string pod = machine("db", "run=5s, complete=50s");
  const std::string source = node_of("db");
  ASSERT_EQ(user_evicts(pod).status, 429);
  ASSERT_TRUE(run_until([&] { return node_of("db") != source; }, seconds(60)));
  const std::string second = node_of("db");
  const auto both = pods("db");
  const std::string arrived = both[0] == pod ? both[1] : both[0];
  const std::string name = evacuate(arrived);
  run_for(seconds(20));
  EXPECT_FALSE(get(name).status.progress) << "that was the way here";
  EXPECT_NE(get(name).status.target_node.value, second);
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_NE(node_of("db"), second);
  EXPECT_EQ(migrations().size(), 2u);
}

TEST_F(KubeVirtScenario, S24_UserMigrationInParallel) {
  begin();
  const std::string pod = machine("db", "run=60s");
  ASSERT_EQ(user_migrates("db").status, 201);
  run_for(seconds(10));
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_EQ(migrations().size(), 1u);
}

TEST_F(KubeVirtScenario, S24_FailedUserMigrationIsNotCountedAgainstUs) {
  begin();
  const std::string pod = machine("db", "run=20s, fail=1");
  ASSERT_EQ(user_migrates("db").status, 201);
  run_for(seconds(10));
  const std::string name = evacuate(pod, with({{"remoteFailures", "1"}}));
  expect_end(name, Phase::kSucceeded, "Migrated");
}

TEST_F(KubeVirtScenario, S25_PostCopyCannotBeCancelled) {
  begin();
  const std::string pod = machine("db", "run=90s, post-copy=2s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until(
      [&] {
        return api::text_at(vmi("db"), {"status", "migrationState", "mode"}) == "PostCopy";
      },
      seconds(60)));
  cancel(name);
  expect_end(name, Phase::kSucceeded, "Migrated");
  EXPECT_EQ(condition(name, "CancelAccepted"), "PointOfNoReturn");
  EXPECT_TRUE(calls("virtualmachineinstancemigrations").empty()) << "nothing was deleted";
}

TEST_F(KubeVirtScenario, S26_External) {
  begin();
  const std::string pod = machine("db", "external=600s", "External");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(in_progress(name));
  EXPECT_EQ(get(name).status.adapter, "external");
  EXPECT_FALSE(get(name).status.queued_since) << "nobody queues: somebody else has to act";
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(condition(name, "ReplacementReady"), "NotExpected");
  EXPECT_TRUE(migrations().empty());
}

TEST_F(KubeVirtScenario, S27_MarkedByADrainIsAdoptedAndNotCancelled) {
  begin();
  const std::string pod = machine("db", "run=600s");
  ASSERT_EQ(user_evicts(pod).status, 429);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(in_progress(name));
  EXPECT_TRUE(evictions().empty()) << "nothing to ask for";
  EXPECT_EQ(ref(name, "markOwned"), "false");
  ASSERT_TRUE(run_until([&] { return migration_phase() == "Running"; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "NothingToDo");
  EXPECT_EQ(mark("db"), node_of("db"));
  EXPECT_EQ(running_migrations(), 1u);
  EXPECT_TRUE(calls("virtualmachineinstances", "evacuate/cancel").empty());
}

TEST_F(KubeVirtScenario, S27_AdoptedMoveSucceeds) {
  begin();
  const std::string pod = machine("db", "run=30s");
  ASSERT_EQ(user_evicts(pod).status, 429);
  expect_end(evacuate(pod), Phase::kSucceeded, "Migrated");
}

TEST_F(KubeVirtScenario, S27_LostAnswerLeavesTheMarkOurs) {
  begin();
  const std::string pod = machine("db", "run=600s");
  simulator::FaultRule rule;
  rule.effect = simulator::FaultEffect::kDropResponse;
  rule.verb = "create";
  rule.subresource = "eviction";
  rule.count = 1;
  server->faults().add(rule);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(in_progress(name));
  EXPECT_EQ(ref(name, "markOwned"), "true");
  EXPECT_EQ(evictions().size(), 1u);
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(mark("db"), "");
}

}  // namespace kubevirt_scenarios_test
