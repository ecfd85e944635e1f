#include <gtest/gtest.h>

#include "test/unit/evictors/kubevirt/kubevirt_fixture.hpp"

/// Meaning of the answers of virt-api to an eviction, a migration and a cancel.
namespace kubevirt_answers_test {

using namespace kubevirt_fixture;

struct AnswerCase {
  const char* name;
  int code;
  std::string message;
  ResponseClass want;
};
class KubeVirtAnswers : public testing::TestWithParam<AnswerCase> {};

const std::string kPrefix = "admission webhook \"virt-launcher-eviction-interceptor.kubevirt.io\" denied the request: ";

TEST_P(KubeVirtAnswers, MatchTheDecisionTable) {
  World world;
  world.vmi["status"]["conditions"] = Json::array({{{"type", "LiveMigratable"}, {"status", "False"}}});
  evictors::Action action;
  action.name = "PostEviction";
  const Json status = {
      {"kind", "Status"}, {"status", "Failure"}, {"message", GetParam().message}, {"code", GetParam().code}};
  const auto verdict =
      kEvictor.classify(world.context(), action, kube::Response{GetParam().code, status.dump(), {}, ""});
  EXPECT_EQ(to_string(verdict.answer), to_string(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtAnswers,
    testing::Values(
        AnswerCase{"Marked", 429, kPrefix + "Eviction triggered evacuation of VMI \"shop/db\"",
                   ResponseClass::kAcceptedInBackground},
        AnswerCase{"MarkedBefore", 429,
                   kPrefix + "Evacuation in progress: Eviction triggered evacuation of VMI \"shop/db\"",
                   ResponseClass::kAcceptedInBackground},
        AnswerCase{"NotMigratable", 429,
                   kPrefix + "VMI db is configured with an eviction strategy but is not live-migratable",
                   ResponseClass::kNotEvictable},
        AnswerCase{"TargetPod", 429, kPrefix + "Eviction request for target Pod", ResponseClass::kRetryLater},
        AnswerCase{"NoVmi", 429, kPrefix + "kubevirt failed getting the vmi: not found", ResponseClass::kRetryLater},
        AnswerCase{"MarkFailed", 429, kPrefix + "kubevirt failed marking the vmi for eviction: conflict",
                   ResponseClass::kRetryLater},
        AnswerCase{"BadBody", 429, kPrefix + "failed to parse the eviction object: x", ResponseClass::kPermanent},
        AnswerCase{
            "Hotplug", 429,
            "admission webhook \"hotplug-pod-eviction-interceptor.kubevirt.io\" denied the request: cannot evict "
            "hotplug pod: hp associated with running vmi: db in namespace shop",
            ResponseClass::kNotEvictable},
        AnswerCase{
            "HotplugOwner", 429,
            "admission webhook \"hotplug-pod-eviction-interceptor.kubevirt.io\" denied the request: failed getting "
            "owner for hotplug pod: etcdserver: request timed out",
            ResponseClass::kRetryLater},
        AnswerCase{
            "VirtApiDown", 500,
            "Internal error occurred: failed calling webhook \"virt-launcher-eviction-interceptor.kubevirt.io\": x",
            ResponseClass::kWebhookDown},
        AnswerCase{"OldBudget", 429, "Cannot evict pod as it would violate the pod's disruption budget.",
                   ResponseClass::kPdbBlocked},
        AnswerCase{"Allowed", 201, "", ResponseClass::kGranted}),
    [](const auto& test) { return test.param.name; });

/// KubeVirt returns the same message for VMs that cannot migrate and for VMs that are still booting.
TEST(KubeVirtNotMigratable, IsAwaitedUntilTheConditionIsFalse) {
  World world;
  evictors::Action action;
  action.name = "PostEviction";
  const Json status = {
      {"kind", "Status"},
      {"message", kPrefix + "VMI db is configured with an eviction strategy but is not live-migratable"},
      {"code", 429}};
  const auto verdict = [&] {
    return kEvictor.classify(world.context(), action, kube::Response{429, status.dump(), {}, ""});
  };
  world.vmi["status"]["phase"] = "Scheduled";
  EXPECT_EQ(verdict().answer, ResponseClass::kRetryLater);
  EXPECT_EQ(verdict().retry_after, base::seconds(10));
  world.vmi["status"]["phase"] = "Running";
  EXPECT_EQ(verdict().answer, ResponseClass::kRetryLater) << "Running, and the condition is still to come";
  world.vmi["status"]["conditions"] = Json::array({{{"type", "LiveMigratable"}, {"status", "True"}}});
  EXPECT_EQ(verdict().answer, ResponseClass::kRetryLater) << "it says so since a moment ago";
  for (const char* phase : {"Scheduled", "Running"}) {
    world.vmi["status"]["phase"] = phase;
    world.vmi["status"]["conditions"] = Json::array({{{"type", "LiveMigratable"},
                                                      {"status", "False"},
                                                      {"reason", "HostDeviceNotLiveMigratable"},
                                                      {"message", "VMI uses a PCI host devices"}}});
    EXPECT_EQ(verdict().answer, ResponseClass::kNotEvictable);
    EXPECT_TRUE(verdict().message.ends_with("(HostDeviceNotLiveMigratable: VMI uses a PCI host devices)"))
        << verdict().message;
  }
}

TEST(KubeVirtNotMigratable, DoesNotShutDownABootingGuest) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.vmi["spec"]["evictionStrategy"] = "LiveMigrateIfPossible";
  const auto plan = kEvictor.plan(world.context());
  EXPECT_EQ(plan.next, evictors::NextMove::kWait);
  EXPECT_NE(plan.why.find("LiveMigratable"), std::string::npos) << plan.why;
  world.parameters = {{"mode", "Migration"}};
  EXPECT_EQ(kEvictor.plan(world.context()).next, evictors::NextMove::kProceed) << "it shuts nothing down";
  world.parameters = {};
  for (const char* status : {"True", "False"}) {
    world.vmi["status"]["conditions"] = Json::array({{{"type", "LiveMigratable"}, {"status", status}}});
    EXPECT_EQ(kEvictor.plan(world.context()).next, evictors::NextMove::kProceed);
  }
}

TEST(KubeVirtNotMigratable, DoesNotShutDownAGuestThatRebootsBetweenTwoCalls) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kRequesting;
  world.vmi["spec"]["evictionStrategy"] = "LiveMigrateIfPossible";
  EXPECT_FALSE(kEvictor.observe(world.context()).failed) << "the mark is set: the call is in effect";
  world.vmi["status"].erase("evacuationNodeName");
  const auto failed = kEvictor.observe(world.context()).failed;
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, "MigratabilityUnknown");
  EXPECT_TRUE(failed->retryable);
  world.vmi["status"]["conditions"] = Json::array({{{"type", "LiveMigratable"}, {"status", "True"}}});
  EXPECT_FALSE(kEvictor.observe(world.context()).failed);
}

class MigrationAnswers : public testing::TestWithParam<AnswerCase> {};
TEST_P(MigrationAnswers, AreUnderstood) {
  World world;
  evictors::Action action;
  action.name = "CreateMigration";
  const Json status = {{"kind", "Status"}, {"message", GetParam().message}, {"code", GetParam().code}};
  const auto verdict =
      kEvictor.classify(world.context(), action, kube::Response{GetParam().code, status.dump(), {}, ""});
  EXPECT_EQ(to_string(verdict.answer), to_string(GetParam().want));
}
const std::string kMigrationPrefix =
    "admission webhook \"migration-create-validator.kubevirt.io\" denied the request: ";
INSTANTIATE_TEST_SUITE_P(
    Evictors, MigrationAnswers,
    testing::Values(AnswerCase{"Created", 201, "", ResponseClass::kApplied},
                    AnswerCase{"InFlight", 400,
                               kMigrationPrefix + "in-flight migration detected. Active migration job (u) is currently "
                                                  "already in progress for VMI db.",
                               ResponseClass::kRetryLater},
                    AnswerCase{"NotMigratable", 400,
                               kMigrationPrefix + "Cannot migrate VMI, Reason: DisksNotLiveMigratable, Message: x",
                               ResponseClass::kNotEvictable},
                    AnswerCase{"Final", 400, kMigrationPrefix + "Cannot migrate VMI in finalized state.",
                               ResponseClass::kRetryLater},
                    AnswerCase{"SelectorBefore16", 400,
                               "VirtualMachineInstanceMigration in version \"v1\" cannot be handled as a "
                               "VirtualMachineInstanceMigration: strict decoding error: unknown field "
                               "\"spec.addedNodeSelector\"",
                               ResponseClass::kNotEvictable},
                    AnswerCase{"Exists", 409, "already exists", ResponseClass::kConflict},
                    AnswerCase{"Forbidden", 403, "forbidden", ResponseClass::kForbidden},
                    AnswerCase{"NoVmi", 400, kMigrationPrefix + "the VMI \"shop/db\" does not exist",
                               ResponseClass::kRefusedByWebhook}),
    [](const auto& test) { return test.param.name; });

TEST(KubeVirtCancel, ReadsTheCancelsAnswers) {
  World world;
  evictors::Action action;
  action.name = "CancelEvacuation";
  const auto answer = [&](int code, const std::string& body) {
    return kEvictor.classify(world.context(), action, kube::Response{code, body, {}, ""});
  };
  EXPECT_EQ(answer(200, "").answer, ResponseClass::kApplied);
  EXPECT_EQ(answer(200, "<html>log in</html>").answer, ResponseClass::kUnknown);
  EXPECT_EQ(answer(500, R"({"kind":"Status","message":"test failed"})").answer, ResponseClass::kUnknown);
  const auto gone = answer(404, R"({"kind":"Status","message":"virtualmachineinstance.kubevirt.io \"db\" not found"})");
  EXPECT_EQ(gone.answer, ResponseClass::kApplied);
  const auto unknown_path =
      answer(404, R"({"kind":"Status","message":"the server could not find the requested resource"})");
  EXPECT_EQ(ref_in(unknown_path.refs, "cancelUnsupported"), "true");
}

struct RefusalCase {
  const char* name;
  int code;
  const char* message;
  const char* says;
};
class KubeVirtLastingRefusal : public testing::TestWithParam<RefusalCase> {};
TEST_P(KubeVirtLastingRefusal, IsExplained) {
  World world;
  evictors::Action action;
  action.name = "CancelEvacuation";
  const Json status = {{"kind", "Status"}, {"message", GetParam().message}, {"code", GetParam().code}};
  const auto meaning =
      kEvictor.classify(world.context(), action, kube::Response{GetParam().code, status.dump(), {}, ""});
  EXPECT_NE(meaning.answer, ResponseClass::kApplied);
  EXPECT_TRUE(meaning.message.starts_with(GetParam().says)) << meaning.message;
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtLastingRefusal,
    testing::Values(RefusalCase{"TheNodeObjectIsGone", 500, "Internal error occurred: nodes \"node-1\" not found",
                                "KubeVirt removes the mark only while the VM's node object exists: "},
                    RefusalCase{"TheNodeHasTheDrainTaint", 400,
                                "Node \"node-1\" has NodeDrainTaintKey \"&Taint{Key:kubevirt.io/drain,}\"",
                                "KubeVirt does not remove the mark while the node has its drain taint: "},
                    RefusalCase{"AnythingElse", 500, "Internal error occurred: no memory", "Internal error occurred"}),
    [](const auto& test) { return test.param.name; });

TEST(KubeVirtPermissions, RequiredByVirtApiAreReported) {
  World world;
  evictors::Action action;
  action.name = "CancelEvacuation";
  const auto answered = [&](const char* body) {
    return kEvictor.classify(world.context(), action, kube::Response{401, body, {}, "text/plain"});
  };
  for (const char* body : {"", "User \"evacuator\" cannot update resource"}) {
    EXPECT_EQ(answered(body).answer, ResponseClass::kAuth);
    EXPECT_NE(answered(body).message.find("virtualmachineinstances/evacuate/cancel"), std::string::npos)
        << answered(body).message;
  }
  const auto expired = answered(R"({"kind":"Status","status":"Failure","message":"Unauthorized","code":401})");
  EXPECT_EQ(expired.message, "Unauthorized") << "the API server's own, about the credentials";
}

TEST(KubeVirtPermissions, MissingOnesAreReported) {
  World world;
  evictors::Action action;
  action.name = "CreateMigration";
  const Json status = {{"kind", "Status"}, {"message", "virtualmachineinstancemigrations.kubevirt.io is forbidden"}};
  const auto meaning = kEvictor.classify(world.context(), action, kube::Response{403, status.dump(), {}, ""});
  EXPECT_EQ(meaning.answer, ResponseClass::kForbidden);
  EXPECT_NE(meaning.message.find("config/optional/kubevirt-migrations.yaml"), std::string::npos) << meaning.message;
}

TEST(KubeVirtDeletion, ReportsThatAPreparingMigrationIsAbortedLater) {
  for (const char* phase : {"Scheduling", "PreparingTarget", "TargetReady", "Running"}) {
    World world;
    world.evacuation.status.phase = EvacuationPhase::kAborting;
    world.migration("m", phase);
    evictors::Action action;
    action.name = "DeleteMigration";
    const auto meaning =
        kEvictor.classify(world.context(), action, kube::Response{200, R"({"kind":"Status"})", {}, ""});
    EXPECT_EQ(meaning.answer, ResponseClass::kApplied);
    const bool preparing = std::string_view(phase) == "PreparingTarget" || std::string_view(phase) == "TargetReady";
    EXPECT_EQ(meaning.message.find("only after it has started to run") != std::string::npos, preparing)
        << phase << meaning.message;
  }
}

}  // namespace kubevirt_answers_test
