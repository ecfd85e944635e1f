#include "evictors/kubevirt/kubevirt.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "evictors/classify.hpp"
#include "evictors/kubevirt/calls.hpp"
#include "evictors/kubevirt/facts.hpp"
#include "test/builders/origin.hpp"
#include "test/unit/evictors/objects.hpp"

namespace kubevirt_test {

using api::EvacuationPhase;
using api::Json;
using evictors::Document;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::kubevirt::KubeVirtEvictor;
using evictors_test::kNoon;
using evictors_test::kToken;

/// State of an Evacuation of VM shop/db on node-1. Tests edit its members.
struct World {
  World() {
    evacuation = evictors_test::evacuation(EvacuationPhase::kInProgress);
    evacuation.spec.pod_ref.name = "virt-launcher-db-x";
    evacuation.spec.node_name = {"node-1"};
    evacuation.status.adapter = "eviction";
    evacuation.status.request_sent_at = kNoon;
    evacuation.status.refs = {{"finishedBefore", "-"}, {"markOwned", "true"}, {"vmi", "db"}, {"vmiUid", "vm-uid"}};
    pod =
        evictors_test::pod({{"kubevirt.io/domain", "db"}, {"descheduler.alpha.kubernetes.io/request-evict-only", ""}});
    pod.meta.name = "virt-launcher-db-x";
    pod.meta.labels = api::StringMap({{"kubevirt.io", "virt-launcher"}});
    pod.node_name = {"node-1"};
    vmi = {{"metadata", {{"name", "db"}, {"uid", "vm-uid"}}},
           {"spec", {{"domain", {{"memory", {{"guest", "4Gi"}}}}}, {"evictionStrategy", "LiveMigrate"}}},
           {"status", {{"phase", "Running"}, {"nodeName", "node-1"}, {"evacuationNodeName", "node-1"}}}};
    kubevirt = {{"items", Json::array({{{"status", {{"observedKubeVirtVersion", "v1.7.0"}}}}})}};
  }

  World& migration(const char* name, const char* phase, const char* node = "node-1") {
    migrations.push_back({{"metadata",
                           {{"name", name},
                            {"uid", std::string("uid-") + name},
                            {"creationTimestamp", "2026-11-21T12:00:00Z"},
                            {"annotations", {{"kubevirt.io/evacuationMigration", node}}}}},
                          {"spec", {{"vmiName", "db"}}},
                          {"status", {{"phase", phase}}}});
    return *this;
  }
  World& intent(const char* action, const char* pre_state, bool resolved, const char* result = "") {
    evacuation.status.intent = api::EvacuationIntent{action, kToken, kNoon, resolved, result, pre_state};
    return *this;
  }
  World& target_pod(const char* unschedulable) {
    target_pods.push_back({{"metadata", {{"labels", {{"kubevirt.io/migrationJobUID", "uid-m"}}}}},
                           {"status",
                            {{"conditions", Json::array({{{"type", "PodScheduled"},
                                                          {"status", "False"},
                                                          {"reason", "Unschedulable"},
                                                          {"message", unschedulable}}})}}}});
    return *this;
  }
  World& forget(std::string_view key) {
    std::erase_if(evacuation.status.refs, [&](const auto& ref) { return ref.first == key; });
    return *this;
  }

  evictors::EvictorContext context() {
    documents = {{"vmi", vmi_status, vmi.dump()},
                 {"migrations", list_status, Json{{"items", migrations}}.dump()},
                 {"kubevirt", 200, kubevirt.dump()},
                 {"target", 200, Json{{"items", target_pods}}.dump()}};
    if (machine) documents.push_back({"machine", machine_status, machine->dump()});
    evictors::EvictorContext made{evacuation, with_pod ? &pod : nullptr, kNoon, parameters, "v1"};
    if (review) documents.push_back(*review);
    made.documents = documents;
    made.creator = creator;
    return made;
  }

  api::Evacuation evacuation;
  std::string creator;             ///< Verified creator of the Evacuation
  std::optional<Document> review;  ///< Access review of the API server for the creator
  api::Pod pod;
  Json vmi;
  Json kubevirt;
  Json migrations = Json::array();
  Json target_pods = Json::array();
  std::optional<Json> machine;  ///< The VirtualMachine object
  std::int32_t machine_status = 200;
  std::int32_t vmi_status = 200;
  std::int32_t list_status = 200;
  bool with_pod = true;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<Document> documents;
};

std::string ref_in(const evictors::Refs& refs, std::string_view key) {
  for (const auto& [name, value] : refs) {
    if (name == key) return value;
  }
  return "";
}

const KubeVirtEvictor kEvictor;

// --- answers

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
    [](const auto& info) { return info.param.name; });

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
                         [](const auto& info) { return info.param.name; });

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
    [](const auto& info) { return info.param.name; });

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
    [](const auto& info) { return info.param.name; });

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
    [](const auto& info) { return info.param.name; });

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

// --- deadline

struct DeadlineCase {
  const char* name;
  const char* memory;
  const char* mode;
  const char* remote_failures;
  int want_seconds;
};
class KubeVirtDeadline : public testing::TestWithParam<DeadlineCase> {};
TEST_P(KubeVirtDeadline, GrowsWithMemoryAndAttempts) {
  World world;
  world.vmi["spec"]["domain"]["memory"]["guest"] = GetParam().memory;
  if (*GetParam().mode) world.parameters.emplace_back("mode", GetParam().mode);
  if (*GetParam().remote_failures) world.parameters.emplace_back("remoteFailures", GetParam().remote_failures);
  EXPECT_EQ(kEvictor.probe(world.context()).total, base::seconds(GetParam().want_seconds));
}
INSTANTIATE_TEST_SUITE_P(Evictors, KubeVirtDeadline,
                         testing::Values(DeadlineCase{"SmallOnesGetHalfAnHour", "1Gi", "", "", 1800},
                                         DeadlineCase{"ThreeTriesOf16Gi", "16Gi", "", "", 900 + 3 * 18 * 150},
                                         DeadlineCase{"OneTry", "16Gi", "", "1", 900 + 18 * 150},
                                         DeadlineCase{"OneShot", "16Gi", "Migration", "", 900 + 18 * 150},
                                         DeadlineCase{"DecimalGigabytes", "16G", "", "1", 900 + 16 * 150},
                                         DeadlineCase{"RoundsUp", "15500Mi", "", "1", 900 + 17 * 150},
                                         DeadlineCase{"NonsenseMemory", "lots", "", "", 1800},
                                         DeadlineCase{"HugeIsBounded", "4000Pi", "", "", 7 * 86'400}),
                         [](const auto& info) { return info.param.name; });

TEST(KubeVirtProbe, FollowsTheClustersSettings) {
  World world;
  world.vmi["spec"]["domain"]["memory"]["guest"] = "100Gi";
  world.kubevirt["items"][0]["spec"]["configuration"]["migrations"]["completionTimeoutPerGiB"] = 10;
  EXPECT_EQ(kEvictor.probe(world.context()).total, base::seconds(900 + 3 * 1080));
  world.evacuation.spec.timeouts.total = base::seconds(77);
  EXPECT_EQ(kEvictor.probe(world.context()).total, std::nullopt) << "the spec's own word";
}

struct AllowanceCase {
  const char* name;
  void (*edit)(Json& vmi, Json& migrations);
  int want_seconds;  ///< Seconds in addition to the slack of 900
};
class KubeVirtAllowance : public testing::TestWithParam<AllowanceCase> {};
/// One attempt for a VM of 10 GB.
TEST_P(KubeVirtAllowance, MatchesTheTimeoutsOfKubeVirt) {
  World world;
  world.parameters = {{"mode", "Migration"}};
  world.vmi["spec"]["domain"]["memory"]["guest"] = "10G";
  Json& migrations = world.kubevirt["items"][0]["spec"]["configuration"]["migrations"];
  migrations["completionTimeoutPerGiB"] = 200;
  GetParam().edit(world.vmi, migrations);
  EXPECT_EQ(kEvictor.probe(world.context()).total, base::seconds(900 + GetParam().want_seconds));
}
constexpr int kAllowed = 10 * 200;
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtAllowance,
    testing::Values(
        AllowanceCase{"TheClusters", [](Json&, Json&) {}, kAllowed},
        AllowanceCase{"TheStallDetectorsFactor",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationState"]["migrationConfiguration"]["experimental"]["stallDetector"] = {
                            {"completionTimeoutFactor", "3"}};
                      },
                      3 * kAllowed},
        AllowanceCase{"NonsenseFactor",
                      [](Json&, Json& migrations) {
                        migrations["experimental"]["stallDetector"] = {{"completionTimeoutFactor", "much"}};
                      },
                      kAllowed},
        AllowanceCase{"TwiceWhereTheGuestMayBeDisrupted",
                      [](Json&, Json& migrations) { migrations["allowWorkloadDisruption"] = true; }, 2 * kAllowed},
        AllowanceCase{"WhichPostCopyImplies", [](Json&, Json& migrations) { migrations["allowPostCopy"] = true; },
                      2 * kAllowed},
        AllowanceCase{"UnlessItIsForbidden",
                      [](Json&, Json& migrations) {
                        migrations["allowPostCopy"] = true;
                        migrations["allowWorkloadDisruption"] = false;
                      },
                      kAllowed},
        AllowanceCase{"WhatWasResolvedForTheVmGoesFirst",
                      [](Json& vmi, Json& migrations) {
                        migrations["allowPostCopy"] = true;
                        vmi["status"]["migrationState"]["migrationConfiguration"] = {{"completionTimeoutPerGiB", 300},
                                                                                     {"allowPostCopy", false}};
                      },
                      10 * 300},
        AllowanceCase{"ResolvedPartly",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationState"]["migrationConfiguration"] = {{"allowWorkloadDisruption", true}};
                      },
                      2 * kAllowed},
        AllowanceCase{"NoLimitIsAWeek", [](Json&, Json& migrations) { migrations["completionTimeoutPerGiB"] = 0; },
                      7 * 86'400 - 900},
        AllowanceCase{"MigratedVolumesAreCopied",
                      [](Json& vmi, Json&) {
                        const Json claim = {{"capacity", {{"storage", "50G"}}}, {"requests", {{"storage", "30G"}}}};
                        vmi["status"]["migratedVolumes"] =
                            Json::array({{{"volumeName", "a"}, {"sourcePVCInfo", claim}}, {{"volumeName", "b"}}});
                      },
                      (10 + 30) * 200},
        AllowanceCase{"EphemeralDisksAreCopiedByBlocks",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationMethod"] = "BlockMigration";
                        vmi["spec"]["volumes"] =
                            Json::array({{{"name", "a"}, {"emptyDisk", {{"capacity", "5G"}}}},
                                         {{"name", "b"}, {"containerDisk", {{"image", "os"}}}},
                                         {{"name", "c"}, {"persistentVolumeClaim", {{"claimName", "c"}}}}});
                        vmi["status"]["volumeStatus"] = Json::array(
                            {{{"name", "b"}, {"size", 2'000'000'000}}, {{"name", "c"}, {"size", 90'000'000'000}}});
                      },
                      (10 + 5 + 2) * 200},
        AllowanceCase{"AndOnlyThen",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationMethod"] = "LiveMigration";
                        vmi["spec"]["volumes"] = Json::array({{{"name", "a"}, {"emptyDisk", {{"capacity", "5G"}}}}});
                      },
                      kAllowed},
        AllowanceCase{"NonsenseCountsAsAbsent",
                      [](Json& vmi, Json& migrations) {
                        migrations["allowPostCopy"] = "yes";
                        vmi["status"]["migratedVolumes"] = 7;
                        vmi["status"]["migrationState"]["migrationConfiguration"] = {{"completionTimeoutPerGiB", -5}};
                      },
                      kAllowed}),
    [](const auto& info) { return info.param.name; });

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
    [](const auto& info) { return info.param.name; });

// --- observation

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
    [](const auto& info) { return info.param.name; });

// --- added node selector

struct SelectorCase {
  const char* name;
  const char* version;
  const char* own_zone;
  std::string refusal;  ///< Text of the refusal, empty for none
};
class KubeVirtSelector : public testing::TestWithParam<SelectorCase> {};
TEST_P(KubeVirtSelector, IsRefusedIfKubeVirtWouldDropIt) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a,disk=ssd"}};
  world.evacuation.status.conditions = {builders::origin_verified()};
  world.kubevirt["items"][0]["status"]["observedKubeVirtVersion"] = GetParam().version;
  if (*GetParam().own_zone) world.vmi["spec"]["nodeSelector"]["zone"] = GetParam().own_zone;
  const auto seen = kEvictor.observe(world.context());
  EXPECT_EQ(seen.failed ? seen.failed->message : "", GetParam().refusal);
  if (!seen.failed) return;
  EXPECT_EQ(seen.failed->complete_reason, api::Reason::kNotEvictable);
  EXPECT_FALSE(seen.failed->retryable || seen.failed->try_next);
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtSelector,
    testing::Values(
        SelectorCase{"V15", "v1.5.2", "",
                     "addedNodeSelector requires KubeVirt 1.6; this is 1.5, which would ignore it"},
        SelectorCase{"V16", "v1.6.0", "", ""}, SelectorCase{"V19", "v1.9.0", "", ""},
        SelectorCase{"VersionUnknown", "devel", "", ""}, SelectorCase{"SameAsTheMachines", "v1.7.0", "a", ""},
        SelectorCase{"TheMachinesOwn", "v1.7.0", "b",
                     "addedNodeSelector conflicts with the VM's own nodeSelector zone=b, which would take precedence"}),
    [](const auto& info) { return info.param.name; });

struct MakerCase {
  const char* name;
  void (*edit)(World& world);
  bool refused;
};
class KubeVirtSelectorByHand : public testing::TestWithParam<MakerCase> {};
TEST_P(KubeVirtSelectorByHand, IsNotAllowed) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.evacuation.spec.source = {"balance", "LowNodeUtilization", ""};
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
  GetParam().edit(world);
  const auto seen = kEvictor.observe(world.context());
  ASSERT_EQ(seen.failed.has_value(), GetParam().refused);
  if (!seen.failed) return;
  EXPECT_EQ(seen.failed->complete_reason, api::Reason::kNotAllowed);
  EXPECT_FALSE(seen.failed->retryable || seen.failed->try_next);
  EXPECT_NE(seen.failed->message.find("addedNodeSelector"), std::string::npos) << "it names the rule";
}
void made_by_alice(World& world, int status, const char* answer) {
  world.creator = R"({"user":"alice"})";
  world.review = Document{"creator", status, answer};
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtSelectorByHand,
    testing::Values(MakerCase{"ByWhoeverNamesAPolicy", [](World&) {}, true},
                    MakerCase{"ByWhoeverMayMigrate",
                              [](World& s) { made_by_alice(s, 201, R"({"status":{"allowed":true}})"); }, false},
                    MakerCase{"ByWhoeverMayNotMigrate",
                              [](World& s) { made_by_alice(s, 201, R"({"status":{"allowed":false}})"); }, true},
                    MakerCase{"ByNobodyWhateverIsSaidOfHim",
                              [](World& s) {
                                made_by_alice(s, 201, R"({"status":{"allowed":true}})");
                                s.creator.clear();
                              },
                              true},
                    MakerCase{"WithAForgedSignature",
                              [](World& s) {
                                s.evacuation.status.conditions = {builders::origin_verified()};
                                s.evacuation.status.conditions[0].status = api::ConditionStatus::kFalse;
                              },
                              true},
                    MakerCase{"ByThePolicy",
                              [](World& s) { s.evacuation.status.conditions = {builders::origin_verified()}; }, false},
                    MakerCase{"WithoutASelector",
                              [](World& s) {
                                s.parameters = {{"mode", "Migration"}};
                              },
                              false}),
    [](const auto& info) { return info.param.name; });

TEST(KubeVirtSelectorReview, ChecksWhetherTheCreatorMayMigrate) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
  const auto asked = [&]() -> Json {
    for (const auto& read : kEvictor.reads(world.context())) {
      if (read.name == "creator") return Json::parse(read.request.body)["spec"];
    }
    return nullptr;
  };
  EXPECT_EQ(asked(), nullptr) << "nobody knows who made it";
  world.creator = R"({"user":"alice","groups":["dev"]})";
  const Json spec = asked();
  ASSERT_TRUE(spec.is_object());
  EXPECT_EQ(spec["user"], "alice");
  EXPECT_EQ(spec["groups"], Json::array({"dev"}));
  EXPECT_EQ(spec["resourceAttributes"]["verb"], "create");
  EXPECT_EQ(spec["resourceAttributes"]["namespace"], "shop");
  EXPECT_EQ(spec["resourceAttributes"]["group"], "kubevirt.io");
  EXPECT_EQ(spec["resourceAttributes"]["resource"], "virtualmachineinstancemigrations");
  world.evacuation.status.phase = EvacuationPhase::kInProgress;
  EXPECT_EQ(asked(), nullptr) << "it is decided";
  world.evacuation.status.phase = EvacuationPhase::kPending;
  world.evacuation.status.conditions = {builders::origin_verified()};
  EXPECT_EQ(asked(), nullptr) << "created by the operator";
  world.evacuation.status.conditions.clear();
  world.parameters = {{"mode", "Migration"}};
  EXPECT_EQ(asked(), nullptr) << "nobody chooses a node";
}

TEST(KubeVirtSelectorReview, WithoutAnAnswerIsRetried) {
  for (const auto& [status, body] :
       {std::pair(0, "timeout"), std::pair(403, "{}"), std::pair(201, "<html>"), std::pair(201, R"({"status":{}})"),
        std::pair(500, R"({"status":{"allowed":true}})")}) {
    World world;
    world.evacuation.status.phase = EvacuationPhase::kPreparing;
    world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
    made_by_alice(world, status, body);
    const auto seen = kEvictor.observe(world.context());
    ASSERT_TRUE(seen.failed) << body;
    EXPECT_TRUE(seen.failed->retryable) << body;
  }
}

TEST(KubeVirtSelectorCall, UsesStrictFieldValidation) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kRequesting;
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
  EXPECT_EQ(kEvictor.plan(world.context()).action->request.query, "fieldValidation=Strict");
  world.evacuation.spec.dry_run = true;
  EXPECT_EQ(kEvictor.plan(world.context()).action->request.query, "fieldValidation=Strict&dryRun=All");
}

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

// --- undo

struct UndoCase {
  const char* name;
  void (*edit)(World& world);
  std::string action;  ///< Empty for none
  Rollback want;
};
class KubeVirtUndo : public testing::TestWithParam<UndoCase> {};
TEST_P(KubeVirtUndo, UndoesOnlyOurChanges) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kAborting;
  GetParam().edit(world);
  const auto actions = kEvictor.undo(world.context());
  EXPECT_EQ(actions.empty() ? "" : actions.front().name, GetParam().action);
  EXPECT_EQ(kEvictor.undone(world.context()), GetParam().want);
}
void unmark(World& world) { world.vmi["status"].erase("evacuationNodeName"); }

INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtUndo,
    testing::Values(
        UndoCase{"CancelsTheMarkFirst", [](World& s) { s.migration("m", "Running"); }, "CancelEvacuation",
                 Rollback::kPending},
        UndoCase{"ThenDeletesTheMigration",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Running");
                 },
                 "DeleteMigration", Rollback::kPending},
        UndoCase{"ThenWaitsForItsEnd",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Running");
                   s.migrations[0]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
                 },
                 "", Rollback::kPending},
        UndoCase{"IsDoneThen",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Failed");
                 },
                 "", Rollback::kComplete},
        UndoCase{"LeavesOtherPeoplesMigrations",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Running", "");
                 },
                 "", Rollback::kComplete},
        UndoCase{"LeavesAForeignMark",
                 [](World& s) { s.forget("markOwned").evacuation.status.refs.emplace_back("markOwned", "false"); }, "",
                 Rollback::kNothingToDo},
        UndoCase{"CannotCancelBefore17",
                 [](World& s) { s.kubevirt["items"][0]["status"]["observedKubeVirtVersion"] = "v1.6.3"; }, "",
                 Rollback::kRemoteMarkRemains},
        UndoCase{"WaitsForPostCopy",
                 [](World& s) {
                   s.migration("m", "Running");
                   s.vmi["status"]["migrationState"] = {{"migrationUid", "uid-m"}, {"mode", "PostCopy"}};
                 },
                 "", Rollback::kPending},
        UndoCase{"WaitsForAPodThatHasMoved",
                 [](World& s) {
                   s.vmi["status"] = {{"nodeName", "node-2"}};
                 },
                 "", Rollback::kPending},
        UndoCase{"NothingWasAsked", [](World& s) { s.evacuation.status.request_sent_at.reset(); }, "",
                 Rollback::kNothingToDo},
        UndoCase{"AfterADryRun", [](World& s) { s.evacuation.spec.dry_run = true; }, "", Rollback::kNothingToDo},
        UndoCase{"WaitsWhenBlind", [](World& s) { s.vmi_status = 0; }, "", Rollback::kPending},
        UndoCase{"DeletesItsOwnObject",
                 [](World& s) {
                   s.parameters = {{"mode", "Migration"}};
                   s.migration("evac-e5b3-1", "Running", "").migration("other", "Pending");
                 },
                 "DeleteMigration", Rollback::kPending}),
    [](const auto& info) { return info.param.name; });

TEST(KubeVirtUndoRequests, MatchWhatKubeVirtExpects) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kAborting;
  const auto cancel = kEvictor.undo(world.context()).at(0).request;
  EXPECT_EQ(cancel.method, "PUT");
  EXPECT_EQ(cancel.path,
            "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/db/evacuate/cancel");
  EXPECT_EQ(cancel.body, R"({"evacuationNodeName":"node-1"})");
  EXPECT_EQ(cancel.content_type, "application/json");
  EXPECT_NE(cancel.accept.find("*/*"), std::string::npos) << "virt-api declares no media type: 406 without it";
  unmark(world);
  world.migration("m", "Running");
  const auto removal = kEvictor.undo(world.context()).at(0).request;
  EXPECT_EQ(removal.method, "DELETE");
  EXPECT_NE(removal.body.find("uid-m"), std::string::npos);
}

// --- arrival

struct ArriveCase {
  const char* name;
  void (*edit)(World& world);
  evictors::Verification::State want;
  bool migrated;
};
class KubeVirtArrive : public testing::TestWithParam<ArriveCase> {};
TEST_P(KubeVirtArrive, ReportsWhereTheVmIs) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kVerifying;
  world.with_pod = false;
  GetParam().edit(world);
  const auto arrival = kEvictor.verify(world.context());
  EXPECT_EQ(arrival.state, GetParam().want) << arrival.message;
  EXPECT_EQ(arrival.kind == api::OutcomeKind::kMigrated, GetParam().migrated);
}
using State = evictors::Verification::State;
void gone(World& world) {
  world.vmi_status = 404;
  world.vmi = {{"kind", "Status"}, {"details", {{"name", "db"}}}};
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtArrive,
    testing::Values(
        ArriveCase{"OnAnotherNode",
                   [](World& s) {
                     s.vmi["status"] = {{"phase", "Running"}, {"nodeName", "node-2"}};
                   },
                   State::kArrived, true},
        ArriveCase{"NeverInATargetPod",
                   [](World& s) {
                     s.vmi["status"] = {{"phase", "Running"}, {"nodeName", "node-0"}};
                     s.evacuation.status.refs.emplace_back("hostedVm", "false");
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineIsGone",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine_status = 404;
                     s.machine = {{"kind", "Status"}, {"details", {{"name", "db"}}}};
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineIsBeingDeleted",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine = Json{{"metadata", {{"deletionTimestamp", "2026-11-21T12:00:00Z"}}}};
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineIsHalted",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine = Json{{"spec", {{"runStrategy", "Halted"}}}};
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineStartsItAgain",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine = Json{{"spec", {{"runStrategy", "Always"}}}};
                   },
                   State::kPending, false},
        ArriveCase{"VirtualMachinesAreNotServed",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine_status = 404;
                     s.machine = Json{{"kind", "Status"}};
                   },
                   State::kPending, false},
        ArriveCase{"StillHere", [](World&) {}, State::kPending, false},
        ArriveCase{"ShutDown", [](World& s) { s.vmi["status"]["phase"] = "Succeeded"; }, State::kNotExpected, false},
        ArriveCase{"Gone", gone, State::kNotExpected, false},
        ArriveCase{"GoneButOwned",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                   },
                   State::kPending, false},
        ArriveCase{"DrainedExternally",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.evacuation.status.refs.emplace_back("evictionStrategy", "External");
                   },
                   State::kNotExpected, false},
        ArriveCase{"StartedAgain", [](World& s) { s.vmi["metadata"]["uid"] = "another"; }, State::kArrived, false},
        ArriveCase{"Unreadable", [](World& s) { s.vmi_status = 500; }, State::kPending, false}),
    [](const auto& info) { return info.param.name; });

TEST(KubeVirtArrive, AVmThatWasDeletedIsGone) {
  for (const bool terminating : {false, true}) {
    World world;
    world.evacuation.status.phase = EvacuationPhase::kVerifying;
    world.evacuation.status.refs.emplace_back("virtualMachine", "db");
    world.with_pod = false;
    gone(world);
    world.machine_status = terminating ? 200 : 404;
    world.machine = terminating ? Json{{"metadata", {{"deletionTimestamp", "2026-11-21T12:00:00Z"}}}}
                                : Json{{"kind", "Status"}, {"details", {{"name", "db"}}}};
    EXPECT_EQ(kEvictor.verify(world.context()).kind, api::OutcomeKind::kTargetGone);
    world.evacuation.status.outcome = api::EvacuationOutcome{};
    world.evacuation.status.outcome->kind = api::OutcomeKind::kEvicted;
    EXPECT_FALSE(kEvictor.verify(world.context()).kind) << "it left by our eviction before";
  }
}

// --- parameters and hostile input

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
    [](const auto& info) { return info.param.name; });

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

TEST(KubeVirtReads, ReadsNothingForOtherPods) {
  World world;
  EXPECT_EQ(kEvictor.reads(world.context()).size(), 2u) << "version and settings only when they matter";
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  EXPECT_EQ(kEvictor.reads(world.context()).size(), 3u);
  world.pod.meta.labels = {};
  EXPECT_TRUE(kEvictor.reads(world.context()).empty());
}

}  // namespace kubevirt_test
