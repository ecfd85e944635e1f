#include <gtest/gtest.h>

#include "test/builders/origin.hpp"
#include "test/unit/evictors/kubevirt/kubevirt_fixture.hpp"

/// Choice of the adapter, requests, parameters and reads.
namespace kubevirt_test {

using namespace kubevirt_fixture;

struct ProbeCase {
  const char* name;
  void (*edit)(World& world);
  bool supported;
  std::string_view adapter;
};
class KubeVirtProbes : public testing::TestWithParam<ProbeCase> {};
TEST_P(KubeVirtProbes, ChooseTheAdapter) {
  World world;
  GetParam().edit(world);
  const auto probe = kEvictor.probe(world.context());
  EXPECT_EQ(probe.support == evictors::Support::kSupported, GetParam().supported) << probe.reason;
  EXPECT_EQ(probe.adapter, GetParam().adapter);
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtProbes,
    testing::Values(
        ProbeCase{"Launcher", [](World&) {}, true, "eviction"},
        ProbeCase{"Migration",
                  [](World& s) {
                    s.parameters = {{"mode", "Migration"}};
                  },
                  true, "migration"},
        ProbeCase{"External", [](World& s) { s.vmi["spec"]["evictionStrategy"] = "External"; }, true, "external"},
        ProbeCase{"ExternalByCluster",
                  [](World& s) {
                    s.vmi["spec"].erase("evictionStrategy");
                    s.kubevirt["items"][0]["spec"]["configuration"]["evictionStrategy"] = "External";
                  },
                  true, "external"},
        ProbeCase{"OtherPod", [](World& s) { s.pod.meta.labels = {}; }, false, ""},
        ProbeCase{"NoDomain", [](World& s) { s.pod.meta.annotations = {}; }, false, ""},
        ProbeCase{"NotServed",
                  [](World& s) {
                    s.vmi_status = 404;
                    s.vmi = {{"kind", "Status"}, {"message", "the server could not find the requested resource"}};
                  },
                  false, ""}),
    [](const auto& test) { return test.param.name; });

/// After one 500 it is unknown whether the mark is set and whether the guest is migrating.
TEST(KubeVirtRequest, IsNotRepeatedBlindly) {
  struct Row {
    std::int32_t vmi;
    std::int32_t migrations;
    evictors::NextMove want;
  };
  using evictors::NextMove;
  for (const Row& row : {Row{200, 200, NextMove::kAct}, Row{0, 200, NextMove::kHold}, Row{500, 200, NextMove::kHold},
                         Row{403, 200, NextMove::kHold}, Row{200, 0, NextMove::kHold}, Row{200, 503, NextMove::kHold},
                         Row{404, 200, NextMove::kAct}}) {
    for (const bool dry : {false, true}) {
      World world;
      world.evacuation.status.phase = EvacuationPhase::kRequesting;
      world.evacuation.spec.dry_run = dry;
      world.vmi["status"].erase("evacuationNodeName");
      world.vmi_status = row.vmi;
      world.list_status = row.migrations;
      const auto plan = kEvictor.plan(world.context());
      EXPECT_EQ(plan.next, row.want) << row.vmi << " " << row.migrations;
      EXPECT_EQ(plan.why.empty(), row.want == NextMove::kAct);
    }
  }
}

TEST(KubeVirtRequest, UsesTheStrategyThatWasReadEarlier) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kRequesting;
  builders::set_policy(world.evacuation, "balance");
  world.vmi["spec"].erase("evictionStrategy");
  world.vmi["status"].erase("evacuationNodeName");
  world.vmi["status"]["conditions"] = Json::array({{{"type", "LiveMigratable"}, {"status", "True"}}});
  world.kubevirt = Json::object();
  const auto refused = [&] {
    const auto failed = kEvictor.observe(world.context()).failed;
    return failed ? failed->reason : "";
  };
  EXPECT_EQ(refused(), "EvictionStrategyUnknown");
  world.evacuation.status.refs.emplace_back("evictionStrategy", "LiveMigrate");
  EXPECT_EQ(refused(), "");
  world.vmi["spec"]["evictionStrategy"] = "None";
  EXPECT_EQ(refused(), "WouldShutDown") << "its own counts";
}

struct ShutdownCase {
  const char* name;
  const char* strategy;
  const char* migratable;  ///< Status of the condition LiveMigratable
  const char* cluster;     ///< evictionStrategy of the cluster, nullptr if it is not readable
  const char* refused;     ///< Reason of the failure, empty if the Evacuation continues
};
class KubeVirtShutdown : public testing::TestWithParam<ShutdownCase> {};
TEST_P(KubeVirtShutdown, IsNotAPolicysToDecide) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.vmi["spec"].erase("evictionStrategy");
  if (*GetParam().strategy) world.vmi["spec"]["evictionStrategy"] = GetParam().strategy;
  world.vmi["status"]["conditions"] = Json::array(
      {{{"type", "LiveMigratable"}, {"status", GetParam().migratable}, {"reason", "DisksNotLiveMigratable"}}});
  if (!GetParam().cluster) world.kubevirt = Json::object();
  if (GetParam().cluster && *GetParam().cluster)
    world.kubevirt["items"][0]["spec"]["configuration"]["evictionStrategy"] = GetParam().cluster;
  EXPECT_FALSE(kEvictor.observe(world.context()).failed) << "whoever asks for one pod means it";
  builders::set_policy(world.evacuation, "balance");
  const auto failed = kEvictor.observe(world.context()).failed;
  EXPECT_EQ(failed ? failed->reason : "", GetParam().refused) << (failed ? failed->message : "");
  world.evacuation.status.phase = EvacuationPhase::kRequesting;
  EXPECT_FALSE(kEvictor.observe(world.context()).failed) << "the mark is set: the call is in effect";
  world.vmi["status"].erase("evacuationNodeName");
  const auto repeated = kEvictor.observe(world.context()).failed;
  EXPECT_EQ(repeated ? repeated->reason : "", GetParam().refused) << "before each call";
  world.parameters = {{"allowShutdown", "true"}};
  EXPECT_FALSE(kEvictor.observe(world.context()).failed);
}
INSTANTIATE_TEST_SUITE_P(Evictors, KubeVirtShutdown,
                         testing::Values(ShutdownCase{"Migrates", "LiveMigrate", "True", "", ""},
                                         ShutdownCase{"KubeVirtRefuses", "LiveMigrate", "False", "", ""},
                                         ShutdownCase{"IfPossibleAndItIs", "LiveMigrateIfPossible", "True", "", ""},
                                         ShutdownCase{"IfPossibleAndItIsNot", "LiveMigrateIfPossible", "False", "",
                                                      "WouldShutDown"},
                                         ShutdownCase{"None", "None", "True", "", "WouldShutDown"},
                                         ShutdownCase{"NotSet", "", "True", "", "WouldShutDown"},
                                         ShutdownCase{"SetInTheCluster", "", "True", "LiveMigrate", ""},
                                         ShutdownCase{"External", "External", "False", "", ""},
                                         ShutdownCase{"NobodyKnows", "", "True", nullptr, "EvictionStrategyUnknown"}),
                         [](const auto& test) { return test.param.name; });

struct ObstacleCase {
  const char* name;
  Json condition;
  const char* says;
};
void PrintTo(const ObstacleCase& c, std::ostream* out) { *out << c.name; }
class KubeVirtObstacles : public testing::TestWithParam<ObstacleCase> {};
TEST_P(KubeVirtObstacles, AreReported) {
  World world;
  world.migration("m", "Pending");
  world.migrations[0]["status"]["conditions"] = Json::array({GetParam().condition});
  const auto seen = kEvictor.observe(world.context());
  EXPECT_TRUE(seen.queued);
  EXPECT_NE(seen.message.find(GetParam().says), std::string::npos) << seen.message;
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtObstacles,
    testing::Values(ObstacleCase{"Quota",
                                 {{"type", "migrationRejectedByResourceQuota"}, {"status", "True"}},
                                 "a ResourceQuota of the namespace refuses its target pod"},
                    ObstacleCase{"Backup",
                                 {{"type", "migrationBlockedByBackup"}, {"status", "True"}, {"message", "backup b"}},
                                 "waits for a backup of the VM: backup b"},
                    ObstacleCase{"NotAnyMore",
                                 {{"type", "migrationRejectedByResourceQuota"}, {"status", "False"}},
                                 "cannot create its target pod"},
                    ObstacleCase{"Unknown", {{"type", "other"}, {"status", "True"}}, "KubeVirt queues it"}),
    [](const auto& test) { return test.param.name; });

struct ParameterCase {
  const char* name;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string error;  ///< Empty if the parameters are valid
};
class KubeVirtParameters : public testing::TestWithParam<ParameterCase> {};
TEST_P(KubeVirtParameters, AreChecked) {
  const auto errors = kEvictor.validate(GetParam().parameters, api::FieldPath("p"));
  EXPECT_EQ(errors.empty() ? "" : errors.front().to_string(), GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtParameters,
    testing::Values(
        ParameterCase{"None", {}, ""}, ParameterCase{"Eviction", {{"mode", "Eviction"}, {"remoteFailures", "5"}}, ""},
        ParameterCase{"Migration", {{"mode", "Migration"}, {"addedNodeSelector", "zone=a,disk="}}, ""},
        ParameterCase{"BadMode", {{"mode", "Teleport"}}, "p.mode: must be Eviction or Migration, not Teleport"},
        ParameterCase{"TooManyFailures",
                      {{"remoteFailures", "6"}},
                      "p.remoteFailures: must be a number from 1 to 5: KubeVirt keeps no more failed migrations"},
        ParameterCase{"ShutdownIsAllowed", {{"allowShutdown", "true"}}, ""},
        ParameterCase{
            "ShutdownIsYesOrNo", {{"allowShutdown", "maybe"}}, "p.allowShutdown: must be true or false, not maybe"},
        ParameterCase{"ShutdownByMigration",
                      {{"mode", "Migration"}, {"allowShutdown", "true"}},
                      "p.allowShutdown: has no effect in mode Migration, which does not shut down guests"},
        ParameterCase{"SelectorWithoutMigration",
                      {{"addedNodeSelector", "zone=a"}},
                      "p.addedNodeSelector: requires mode: Migration"},
        ParameterCase{"BadSelector",
                      {{"mode", "Migration"}, {"addedNodeSelector", "zone"}},
                      "p.addedNodeSelector: must be labels, such as zone=a,disk=ssd"}),
    [](const auto& test) { return test.param.name; });

TEST(KubeVirtReads, ReadsTheTargetPodOnlyWhileItIsBeingScheduled) {
  for (const char* phase : {"", "Pending", "Scheduling", "Scheduled", "Running", "Failed"}) {
    World world;
    world.migration("m", phase);
    const auto reads = kEvictor.reads(world.context());
    const bool looks = std::string_view(phase) == "Scheduling";
    ASSERT_EQ(reads.size(), looks ? 3u : 2u) << phase;
    if (!looks) continue;
    EXPECT_EQ(reads.back().request.path, "/api/v1/namespaces/shop/pods");
    EXPECT_NE(reads.back().request.query.find("resourceVersion=0"), std::string::npos);
  }
}

TEST(KubeVirtReads, ReadsNothingForOtherPods) {
  World world;
  EXPECT_EQ(kEvictor.reads(world.context()).size(), 2u) << "version and settings only when they matter";
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  EXPECT_EQ(kEvictor.reads(world.context()).size(), 3u);
  world.pod.meta.labels = {};
  EXPECT_TRUE(kEvictor.reads(world.context()).empty());
}

struct CapacityCase {
  const char* strategy;
  bool want;
};
TEST(KubeVirtCapacity, IsNeededForASecondPod) {
  for (const CapacityCase& each : {CapacityCase{"LiveMigrate", true}, CapacityCase{"LiveMigrateIfPossible", true},
                                   CapacityCase{"External", true}, CapacityCase{"None", false}}) {
    World world;
    world.vmi["spec"]["evictionStrategy"] = each.strategy;
    EXPECT_EQ(kEvictor.needs_capacity(world.context()), each.want) << each.strategy;
    world.parameters = {{"mode", "Migration"}};
    EXPECT_TRUE(kEvictor.needs_capacity(world.context()));
  }
  World stays;
  stays.vmi["status"]["conditions"] = Json::array({{{"type", "LiveMigratable"}, {"status", "False"}}});
  EXPECT_FALSE(kEvictor.needs_capacity(stays.context())) << "KubeVirt refuses it, or shuts the guest down";
  stays.parameters = {{"mode", "Migration"}};
  EXPECT_FALSE(kEvictor.needs_capacity(stays.context()));
  World by_cluster;
  by_cluster.vmi["spec"].erase("evictionStrategy");
  EXPECT_FALSE(kEvictor.needs_capacity(by_cluster.context())) << "unset in the cluster, too: None";
  by_cluster.kubevirt["items"][0]["spec"]["configuration"]["evictionStrategy"] = "LiveMigrate";
  EXPECT_TRUE(kEvictor.needs_capacity(by_cluster.context()));
  by_cluster.kubevirt = Json::object();
  EXPECT_TRUE(kEvictor.needs_capacity(by_cluster.context())) << "not known";
  World unread;
  auto context = unread.context();
  context.documents = {};
  EXPECT_TRUE(kEvictor.needs_capacity(context));
  unread.pod.meta.labels = {};
  EXPECT_FALSE(kEvictor.needs_capacity(context));
}

TEST(KubeVirtHostile, BearsAnything) {
  for (const char* body :
       {"", "null", "[]", "7", "{", "<html>", R"({"items":7})", R"({"items":[7,null,{"spec":[]}]})",
        R"({"metadata":7,"status":[],"spec":"x"})",
        R"({"metadata":{"uid":"u","ownerReferences":[7]},"status":{"migrationState":7,"activePods":[]}})"}) {
    for (const auto phase : {EvacuationPhase::kPreparing, EvacuationPhase::kRequesting, EvacuationPhase::kInProgress,
                             EvacuationPhase::kAborting, EvacuationPhase::kVerifying}) {
      World world;
      world.evacuation.status.phase = phase;
      auto context = world.context();
      for (Document& each : world.documents) each.body = body;
      context.documents = world.documents;
      (void)kEvictor.probe(context);
      (void)kEvictor.plan(context);
      (void)kEvictor.observe(context);
      (void)kEvictor.undo(context);
      (void)kEvictor.undone(context);
      (void)kEvictor.verify(context);
    }
  }
}

}  // namespace kubevirt_test
