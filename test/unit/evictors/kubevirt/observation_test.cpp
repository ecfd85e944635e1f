#include <gtest/gtest.h>

#include "test/unit/evictors/kubevirt/kubevirt_fixture.hpp"

/// What the objects of KubeVirt show of an attempt in progress.
namespace kubevirt_observation_test {

using namespace kubevirt_fixture;

struct ObserveCase {
  const char* name;
  void (*edit)(World& world);
  void (*check)(const evictors::Observation& seen);
};
class KubeVirtObserve : public testing::TestWithParam<ObserveCase> {};
TEST_P(KubeVirtObserve, Sees) {
  World world;
  GetParam().edit(world);
  GetParam().check(kEvictor.observe(world.context()));
}
using Seen = evictors::Observation;
/// The pod belongs to that migration, and the guest runs on another node.
void target_for(World& world, const char* migration) {
  world.pod.meta.labels =
      api::StringMap({{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/migrationJobUID", migration}});
  world.vmi["status"]["nodeName"] = "node-0";
  world.vmi["status"]["activePods"] = {{"another-pod", "node-0"}};
}

INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtObserve,
    testing::Values(
        ObserveCase{"TheMarkWithoutAMigration", [](World&) {},
                    [](const Seen& s) { EXPECT_TRUE(s.requested && s.acknowledged && s.queued && !s.vanished); }},
        ObserveCase{"ExternalDoesNotQueue", [](World& s) { s.evacuation.status.adapter = "external"; },
                    [](const Seen& s) { EXPECT_FALSE(s.queued); }},
        ObserveCase{"ADecentralizedMigrationThatWaits", [](World& s) { s.migration("m", "WaitingForSync"); },
                    [](const Seen& s) { EXPECT_TRUE(s.queued && s.acknowledged); }},
        ObserveCase{"ADecentralizedMigrationThatSynchronizes", [](World& s) { s.migration("m", "Synchronizing"); },
                    [](const Seen& s) { EXPECT_TRUE(s.queued && s.acknowledged); }},
        ObserveCase{"TheMigrationThatBroughtItHere",
                    [](World& s) {
                      s.vmi["status"].erase("evacuationNodeName");
                      s.migration("m", "Running", "node-0");
                      s.vmi["status"]["migrationState"] = {{"migrationUid", "uid-m"},
                                                           {"targetNode", "node-1"},
                                                           {"endTimestamp", "2026-11-21T12:00:00Z"}};
                    },
                    [](const Seen& s) {
                      EXPECT_FALSE(s.acknowledged || s.queued || s.progress);
                      EXPECT_TRUE(s.target.empty()) << s.target.value;
                    }},
        ObserveCase{"ATargetPodIsRememberedAsOne",
                    [](World& s) {
                      s.pod.meta.labels =
                          api::StringMap({{"kubevirt.io", "virt-launcher"}, {"kubevirt.io/migrationJobUID", "uid-m"}});
                      s.vmi["status"]["nodeName"] = "node-0";
                      s.migration("m", "Scheduled", "node-0");
                    },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "hostedVm"), "false"); }},
        ObserveCase{"ATargetPodWhoseMigrationHadFailedBefore",
                    [](World& s) {
                      target_for(s, "uid-m");
                      s.migration("m", "Failed", "node-0");
                    },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "hostedVm"), "false"); }},
        ObserveCase{"ATargetPodWhoseFailedMigrationIsGone",
                    [](World& s) {
                      target_for(s, "uid-m");
                      s.vmi["status"]["migrationState"] = {{"migrationUid", "uid-m"},
                                                           {"sourceNode", "node-0"},
                                                           {"failed", true},
                                                           {"endTimestamp", "2026-11-21T11:00:00Z"}};
                    },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "hostedVm"), "false"); }},
        ObserveCase{"APodThatTheGuestHasLeftSince",
                    [](World& s) {
                      target_for(s, "uid-old");
                      s.vmi["status"]["migrationState"] = {{"migrationUid", "uid-m"},
                                                           {"sourceNode", "node-1"},
                                                           {"endTimestamp", "2026-11-21T12:00:00Z"}};
                    },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "hostedVm"), ""); }},
        ObserveCase{"APodWhoseMigrationCameAboutAndTheGuestHasLeft",
                    [](World& s) {
                      target_for(s, "uid-m");
                      s.migration("m", "Succeeded", "node-2");
                    },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "hostedVm"), ""); }},
        ObserveCase{"OnceTheGuestRunsInItItIsNone",
                    [](World& s) { s.evacuation.status.refs.emplace_back("hostedVm", "false"); },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "hostedVm"), "true"); }},
        ObserveCase{"AQueuedMigration", [](World& s) { s.migration("m", "Pending"); },
                    [](const Seen& s) { EXPECT_TRUE(s.queued); }},
        ObserveCase{"ARunningMigration",
                    [](World& s) {
                      s.migration("m", "Running");
                      s.vmi["status"]["migrationState"] = {{"migrationUid", "uid-m"}, {"targetNode", "node-2"}};
                    },
                    [](const Seen& s) {
                      EXPECT_FALSE(s.queued);
                      EXPECT_EQ(s.progress, 50);
                      EXPECT_EQ(s.target.value, "node-2");
                    }},
        ObserveCase{"TwoFailures",
                    [](World& s) { s.migration("a", "Failed").migration("b", "Failed").migration("c", "Running"); },
                    [](const Seen& s) {
                      EXPECT_EQ(s.failures, 2);
                      EXPECT_FALSE(s.failed);
                    }},
        ObserveCase{"TooManyFailures",
                    [](World& s) { s.migration("a", "Failed").migration("b", "Failed").migration("c", "Failed"); },
                    [](const Seen& s) {
                      ASSERT_TRUE(s.failed);
                      EXPECT_EQ(s.failed->reason, "MigrationFailed");
                      EXPECT_TRUE(s.failed->retryable);
                    }},
        ObserveCase{"OldFailuresDoNotCount",
                    [](World& s) {
                      s.forget("finishedBefore").evacuation.status.refs.emplace_back("finishedBefore", "uid-a,uid-b");
                      s.migration("a", "Failed").migration("b", "Failed");
                    },
                    [](const Seen& s) { EXPECT_EQ(s.failures, 0); }},
        ObserveCase{"OtherPeoplesFailuresDoNotCount", [](World& s) { s.migration("a", "Failed", ""); },
                    [](const Seen& s) { EXPECT_EQ(s.failures, 0); }},
        ObserveCase{"DeletedMigrationsAreNoFailures",
                    [](World& s) {
                      s.migration("a", "Failed");
                      s.migrations[0]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
                    },
                    [](const Seen& s) { EXPECT_EQ(s.failures, 0) << "it passes through Failed on its way out"; }},
        ObserveCase{"WhyNoNodeTakesTheTarget",
                    [](World& s) {
                      s.migration("m", "Scheduling");
                      s.target_pod("0/3 nodes are available: 3 Insufficient memory.");
                    },
                    [](const Seen& s) {
                      EXPECT_NE(s.message.find("Insufficient memory"), std::string::npos);
                      EXPECT_EQ(ref_in(s.refs, "targetUnschedulable"),
                                "uid-m: 0/3 nodes are available: 3 Insufficient memory.");
                    }},
        ObserveCase{"WhyNoNodeTookTheTarget",
                    [](World& s) {
                      s.evacuation.status.refs.emplace_back("targetUnschedulable", "uid-m: no node has the memory");
                      s.migration("m", "Failed").migration("n", "Failed");
                    },
                    [](const Seen& s) {
                      EXPECT_EQ(s.failures, 2);
                      EXPECT_EQ(s.last_failure, "migration n failed") << "of another migration nothing is known";
                    }},
        ObserveCase{"TheFailureOfAnUnschedulableTarget",
                    [](World& s) {
                      s.evacuation.status.refs.emplace_back("targetUnschedulable", "uid-m: no node has the memory");
                      s.migration("m", "Failed");
                    },
                    [](const Seen& s) {
                      EXPECT_EQ(s.last_failure, "no node accepted the migration's target pod: no node has the memory");
                    }},
        ObserveCase{"AMarkThatVanished",
                    [](World& s) {
                      s.vmi["status"].erase("evacuationNodeName");
                      s.evacuation.status.in_progress_since = kNoon - base::seconds(60);
                    },
                    [](const Seen& s) { EXPECT_TRUE(s.vanished); }},
        ObserveCase{"AMarkThatIsNotThereYet",
                    [](World& s) {
                      s.vmi["status"].erase("evacuationNodeName");
                      s.evacuation.status.in_progress_since = kNoon - base::seconds(5);
                    },
                    [](const Seen& s) { EXPECT_FALSE(s.vanished); }},
        ObserveCase{"AMarkThatWentWithTheMove",
                    [](World& s) {
                      s.vmi["status"] = {{"phase", "Running"}, {"nodeName", "node-2"}};
                      s.evacuation.status.in_progress_since = kNoon - base::seconds(60);
                    },
                    [](const Seen& s) { EXPECT_FALSE(s.vanished || s.failed); }},
        ObserveCase{"NothingWithoutAnAnswer", [](World& s) { s.vmi_status = 0; },
                    [](const Seen& s) { EXPECT_EQ(s, Seen{}); }},
        ObserveCase{"RefusesToWorkBlindly",
                    [](World& s) {
                      s.evacuation.status.phase = EvacuationPhase::kPreparing;
                      s.vmi_status = 500;
                    },
                    [](const Seen& s) {
                      ASSERT_TRUE(s.failed);
                      EXPECT_TRUE(s.failed->retryable);
                    }},
        ObserveCase{"SaysWhatRbacForbids",
                    [](World& s) {
                      s.evacuation.status.phase = EvacuationPhase::kPreparing;
                      s.vmi_status = 403;
                    },
                    [](const Seen& s) {
                      ASSERT_TRUE(s.failed);
                      EXPECT_FALSE(s.failed->retryable);
                      EXPECT_EQ(s.failed->complete_reason, "Forbidden");
                    }},
        ObserveCase{"AForeignMark",
                    [](World& s) { s.forget("markOwned").evacuation.status.phase = EvacuationPhase::kRequesting; },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "markOwned"), "false"); }},
        ObserveCase{"ItsOwnMarkAfterALostAnswer",
                    [](World& s) {
                      s.forget("markOwned").intent("PostEviction", "podResourceVersion=41;markPresent=false", false);
                    },
                    [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "markOwned"), "true"); }},
        ObserveCase{
            "AForeignMarkAfterARefusal",
            [](World& s) { s.forget("markOwned").intent("PostEviction", "markPresent=false", true, "WebhookDown"); },
            [](const Seen& s) { EXPECT_EQ(ref_in(s.refs, "markOwned"), "false"); }},
        ObserveCase{"ItsOwnObjectFail",
                    [](World& s) {
                      s.parameters = {{"mode", "Migration"}};
                      s.migration("evac-e5b3-1", "Failed", "");
                    },
                    [](const Seen& s) { EXPECT_TRUE(s.failed); }},
        ObserveCase{"ItsOwnObjectDeletedByAnother",
                    [](World& s) {
                      s.parameters = {{"mode", "Migration"}};
                      s.migration("evac-e5b3-1", "Failed", "");
                      s.migrations[0]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
                    },
                    [](const Seen& s) {
                      EXPECT_FALSE(s.failed);
                      EXPECT_TRUE(s.vanished);
                    }},
        ObserveCase{"ItsOwnObjectDisappear",
                    [](World& s) {
                      s.parameters = {{"mode", "Migration"}};
                    },
                    [](const Seen& s) { EXPECT_TRUE(s.vanished); }}),
    [](const auto& test) { return test.param.name; });

}  // namespace kubevirt_observation_test
