#include "simulator/kubevirt/kubevirt.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "kube/request.hpp"
#include "simulator/api/server.hpp"
#include "test/unit/simulator/world.hpp"

namespace simulator::kubevirt {
namespace kubevirt_test {

using api::Json;
namespace names = api::well_known;

/// A cluster with KubeVirt and queries for its tests.
class KubeVirtTest : public testing::Test {
 protected:
  void begin(const char* version = "v1.7.0", const char* cluster_strategy = "",
             const std::vector<std::string>& feature_gates = {}) {
    ASSERT_TRUE(install(world.cluster, server, version));
    world.add(objects::name_space("shop"));
    world.add_nodes(3);
    world.add(objects::kubevirt(version, cluster_strategy, feature_gates));
  }

  /// Adds a VMI and waits until it runs. Returns the name of its pod.
  std::string machine(const char* name, const std::string& script = "", const char* strategy = "LiveMigrate") {
    Json object = objects::virtual_machine("shop", name, "1Gi", strategy);
    if (!script.empty()) objects::annotate(object, behaviour::kMigrationScript, script);
    return start(std::move(object));
  }
  std::string start(Json object) {
    const std::string name = object["metadata"]["name"];
    world.add(std::move(object));
    world.advance(seconds(10));
    EXPECT_EQ(phase(name), "Running");
    const auto pods = launchers(name);
    return pods.empty() ? "" : pods.front();
  }

  struct Reply {
    int code;
    Json body;
    std::string message() const { return body.is_object() ? body.value("message", "") : ""; }
  };
  Reply send(const kube::Request& request, const char* user = "alice") {
    const auto response = server.handle(request, {user, {}, "test"});
    world.cluster.run_until_quiet();
    return {response.status, Json::parse(response.body, nullptr, false)};
  }
  Reply evict(const std::string& pod, bool dry_run = false) {
    kube::EvictionOptions options;
    options.uid = uid_of(*world.pod(pod));
    options.dry_run = dry_run;
    options.annotations = {{"requested-by", "sigs.k8s.io/descheduler"}};
    return send(kube::eviction_request({"shop", pod}, options, "v1"));
  }
  Reply cancel(const std::string& name, const std::string& body, const char* accept = "application/json, */*") {
    kube::Request request;
    request.method = "PUT";
    request.path =
        "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/" + name + "/evacuate/cancel";
    request.body = body;
    request.content_type = "application/json";
    request.accept = accept;
    return send(request);
  }
  Reply migrate(const std::string& name, const std::string& migration, const Json& more = Json::object()) {
    Json body = {{"apiVersion", "kubevirt.io/v1"},
                 {"kind", "VirtualMachineInstanceMigration"},
                 {"metadata", {{"name", migration}, {"namespace", "shop"}}},
                 {"spec", {{"vmiName", name}}}};
    body["spec"].update(more);
    return send(kube::create_request(kube::kVmims, "shop", body));
  }

  Json vmi(const std::string& name) {
    const Object found = world.get(kube::kVmis, "shop", name);
    return found ? *found : Json();
  }
  std::string phase(const std::string& name) { return api::text_at(vmi(name), {"status", "phase"}); }
  std::string node(const std::string& name) { return api::text_at(vmi(name), {"status", "nodeName"}); }
  std::vector<Object> migrations(const std::string& name) {
    auto all = world.cluster.store().list(kube::kVmims, "shop");
    std::erase_if(all, [&](const Object& each) { return api::text_at(*each, {"spec", "vmiName"}) != name; });
    std::ranges::stable_sort(all, {}, [](const Object& each) {
      return std::stoll(api::text_at(*each, {"metadata", "resourceVersion"}));
    });
    std::ranges::stable_sort(all, {}, [](const Object& each) {
      return api::text_at(*each, {"metadata", "creationTimestamp"});
    });
    return all;
  }
  std::vector<std::string> phases(const std::string& name) {
    std::vector<std::string> found;
    for (const Object& each : migrations(name)) found.push_back(api::text_at(*each, {"status", "phase"}));
    return found;
  }
  std::vector<std::string> launchers(const std::string& name) {
    std::vector<std::string> found;
    for (const Object& pod : world.pods()) {
      if (label_of(*pod, kVmName) == name && facts_of(*pod).is_active())
        found.push_back(api::text_at(*pod, {"metadata", "name"}));
    }
    return found;
  }
  std::string pod_phase(const std::string& pod) {
    return world.pod(pod) ? api::text_at(*world.pod(pod), {"status", "phase"}) : "(gone)";
  }
  bool in_progress(const std::string& pod) { return behaviour::is_set(*world.pod(pod), names::kEvictionInProgress); }

  World world;
  ApiServer server{world.cluster.store()};
};

TEST_F(KubeVirtTest, MigratesAVmByEviction) {
  begin("v1.9.0");
  const std::string pod = machine("db");
  const std::string source = node("db");
  const Reply reply = evict(pod);
  EXPECT_EQ(reply.code, 429);
  EXPECT_EQ(server.journal().entries().back().uid, uid_of(*world.pod(pod))) << "also of a call that a webhook refuses";
  EXPECT_EQ(reply.body.dump(),
            Json({{"kind", "Status"},
                  {"apiVersion", "v1"},
                  {"metadata", Json::object()},
                  {"status", "Failure"},
                  {"message",
                   "admission webhook \"virt-launcher-eviction-interceptor.kubevirt.io\" denied the request: "
                   "Eviction triggered evacuation of VMI \"shop/db\""},
                  {"code", 429}})
                .dump());
  EXPECT_EQ(mark_of(vmi("db")), source);
  EXPECT_TRUE(in_progress(pod));
  EXPECT_EQ(world.condition(world.get(kube::kVmis, "shop", "db"), "EvictionRequested"), "True");
  ASSERT_EQ(migrations("db").size(), 1u);
  EXPECT_EQ(api::text_at(*migrations("db")[0], {"spec", "priority"}), "system-maintenance");
  EXPECT_EQ(annotation_of(*migrations("db")[0], kEvacuationMigration), source);
  EXPECT_EQ(evict(pod).message(),
            "admission webhook \"virt-launcher-eviction-interceptor.kubevirt.io\" denied the request: Evacuation in "
            "progress: Eviction triggered evacuation of VMI \"shop/db\"");
  world.advance(seconds(30));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Succeeded"});
  EXPECT_NE(node("db"), source);
  EXPECT_EQ(mark_of(vmi("db")), "");
  EXPECT_EQ(annotation_of(vmi("db"), kEvictionSource), "");
  EXPECT_EQ(pod_phase(pod), "Succeeded");
  EXPECT_TRUE(in_progress(pod)) << "KubeVirt looks at the current pod only: the one left behind keeps it";
  ASSERT_EQ(launchers("db").size(), 1u);
  EXPECT_FALSE(in_progress(launchers("db")[0]));
  EXPECT_EQ(world.node_of(launchers("db")[0]), node("db"));
  EXPECT_TRUE(world.has_event("Migrated", "db"));
  world.advance(minutes(60));
  EXPECT_EQ(pod_phase(pod), "Succeeded") << "stays";
}

TEST_F(KubeVirtTest, DryRunMarksNothing) {
  begin();
  const std::string pod = machine("db");
  EXPECT_EQ(evict(pod, true).code, 429);
  EXPECT_EQ(mark_of(vmi("db")), "");
}

TEST_F(KubeVirtTest, RunsThroughThePhases) {
  begin();
  const std::string pod = machine("db", "scheduled=5s, preparing=5s, ready=5s, run=5s");
  evict(pod);
  std::vector<std::string> seen;
  for (int i = 0; i < 60 && (seen.empty() || seen.back() != "Succeeded"); ++i) {
    if (const std::string now = phases("db").at(0); seen.empty() || seen.back() != now) seen.push_back(now);
    world.advance(milliseconds(500));
  }
  const std::vector<std::string> want = {"Scheduling",  "Scheduled", "PreparingTarget",
                                         "TargetReady", "Running",   "Succeeded"};
  EXPECT_EQ(seen, want);
}

TEST_F(KubeVirtTest, FailsTwiceThenSucceeds) {
  begin();
  const std::string pod = machine("db", "run=5s, fail=2, reason=disk full");
  const std::string source = node("db");
  evict(pod);
  ASSERT_TRUE(world.cluster.run_until(
      [&] {
        return phases("db") == std::vector<std::string>{"Failed", "Pending"};
      },
      seconds(60)));
  EXPECT_EQ(api::text_at(vmi("db"), {"status", "migrationState", "failureReason"}), "disk full");
  EXPECT_EQ(mark_of(vmi("db")), source) << "the mark stays";
  EXPECT_TRUE(in_progress(pod));
  EXPECT_TRUE(world.has_event("MigrationBackoff"));
  const auto failed = world.now();
  ASSERT_TRUE(world.cluster.run_until([&] { return phases("db").back() != "Pending"; }, seconds(60)));
  EXPECT_NEAR(std::chrono::duration<double>(world.now() - failed).count(), 20, 1.5);
  ASSERT_TRUE(world.cluster.run_until([&] { return node("db") != source; }, minutes(3)));
  EXPECT_EQ(phases("db").size(), 3u);
}

TEST_F(KubeVirtTest, FailsPermanentlyAndKeepsFiveMigrations) {
  begin();
  const std::string pod = machine("db", "run=1s, fail=always");
  evict(pod);
  world.advance(std::chrono::hours(2));
  EXPECT_GE(migrations("db").size(), 5u);
  EXPECT_LE(migrations("db").size(), 6u);
  EXPECT_EQ(mark_of(vmi("db")), node("db"));
  EXPECT_EQ(pod_phase(pod), "Running");
  EXPECT_LE(world.pods().size(), 7u) << "the pods of forgotten migrations go with them";
}

class KubeVirtGarbage : public KubeVirtTest, public testing::WithParamInterface<const char*> {};
TEST_P(KubeVirtGarbage, TheCompletedLauncherGoesWithItsMigrationSince19) {
  begin(GetParam());
  const std::string first = machine("db", "run=1s");
  for (int i = 0; i < 7; ++i) {
    evict(launchers("db").at(0));
    world.advance(seconds(30));
  }
  EXPECT_EQ(migrations("db").size(), 5u);
  EXPECT_EQ(pod_phase(first), std::string(GetParam()) == "v1.9.0" ? "(gone)" : "Succeeded");
}
INSTANTIATE_TEST_SUITE_P(KubeVirt, KubeVirtGarbage, testing::Values("v1.8.4", "v1.9.0"),
                         [](const auto& test) { return "V1" + std::string(test.param + 3, 1); });

TEST_F(KubeVirtTest, ABootingGuestIsOnItsNodeAndNotYetMigratable) {
  begin("v1.9.0");
  Json object = objects::virtual_machine("shop", "db", "1Gi");
  objects::annotate(object, behaviour::kMigrationScript, "boot=60s");
  world.add(std::move(object));
  world.advance(seconds(10));
  EXPECT_EQ(phase("db"), "Scheduled");
  EXPECT_FALSE(node("db").empty());
  EXPECT_EQ(condition_of(vmi("db"), "LiveMigratable"), nullptr);
  EXPECT_EQ(evict(launchers("db").at(0)).message(),
            "admission webhook \"virt-launcher-eviction-interceptor.kubevirt.io\" denied the request: VMI db is "
            "configured with an eviction strategy but is not live-migratable");
  world.advance(seconds(60));
  EXPECT_EQ(phase("db"), "Running");
  EXPECT_TRUE(is_live_migratable(vmi("db")));
}

TEST_F(KubeVirtTest, TheHandOverIsTwoWrites) {
  begin("v1.9.0");
  const std::string pod = machine("db", "run=5s, complete=30s");
  const std::string source = node("db");
  evict(pod);
  const Json begun = *migrations("db").at(0);
  EXPECT_EQ(api::text_at(begun, {"status", "migrationState", "sourcePod"}), pod) << "from Pending on";
  EXPECT_EQ(api::text_at(begun, {"status", "migrationState", "migrationUid"}), "");
  ASSERT_TRUE(world.cluster.run_until([&] { return node("db") != source; }, seconds(60)));
  EXPECT_EQ(mark_of(vmi("db")), "");
  EXPECT_NE(api::text_at(vmi("db"), {"status", "migrationState", "endTimestamp"}), "");
  EXPECT_FALSE(api::flag_at(vmi("db"), {"status", "migrationState", "completed"}));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Running"});
  EXPECT_EQ(pod_phase(pod), "Running");
  world.advance(seconds(35));
  EXPECT_TRUE(api::flag_at(vmi("db"), {"status", "migrationState", "completed"}));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Succeeded"});
  EXPECT_EQ(pod_phase(pod), "Succeeded");
}

TEST_F(KubeVirtTest, LaunchersKeepTheirRuntimeInEmptyDirs) {
  begin();
  const Object pod = world.pod(machine("db"));
  std::size_t empty_dirs = 0;
  for (const Json& volume : (*pod)["spec"]["volumes"]) empty_dirs += volume.contains("emptyDir") ? 1 : 0;
  EXPECT_EQ(empty_dirs, 7u);
  EXPECT_EQ(label_of(*pod, "vmi.kubevirt.io/id"), "db");
}

TEST_F(KubeVirtTest, AQuotaShowsOnlyInACondition) {
  begin();
  evict(machine("db", "over-quota"));
  world.advance(minutes(30));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Pending"});
  const Json* condition = condition_of(*migrations("db").at(0), "migrationRejectedByResourceQuota");
  ASSERT_TRUE(condition);
  EXPECT_FALSE(condition->contains("message"));
  EXPECT_EQ(launchers("db").size(), 1u);
}

TEST_F(KubeVirtTest, CancelThenDeletionStopsIt) {
  begin();
  const std::string pod = machine("db", "run=600s, abort=3s");
  const std::string source = node("db");
  evict(pod);
  world.advance(seconds(20));
  ASSERT_EQ(phases("db"), std::vector<std::string>{"Running"});
  EXPECT_EQ(cancel("db", "{").code, 400);
  EXPECT_EQ(cancel("db", "").code, 500) << "an empty body names no node: the test of the patch fails";
  EXPECT_EQ(cancel("db", R"({"evacuationNodeName":"elsewhere"})").message(),
            "Internal error occurred: the server rejected our request due to an error in our request");
  EXPECT_EQ(cancel("db", "{\"evacuationNodeName\":\"" + source + "\",\"dryRun\":[\"All\"]}").code, 200);
  EXPECT_EQ(mark_of(vmi("db")), source);
  EXPECT_EQ(cancel("db", "{\"evacuationNodeName\":\"" + source + "\"}").code, 200);
  EXPECT_EQ(mark_of(vmi("db")), "");
  EXPECT_FALSE(in_progress(pod));
  EXPECT_EQ(annotation_of(vmi("db"), kEvictionSource), "descheduler") << "only the mark goes";
  EXPECT_EQ(cancel("db", "{\"evacuationNodeName\":\"" + source + "\"}").code, 200) << "also when not marked";
  EXPECT_EQ(cancel("db", "{").code, 200) << "nobody reads the body then";
  EXPECT_EQ(cancel("other", R"({"evacuationNodeName":"n"})").code, 404);
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Running"}) << "the running one goes on";
  world.remove(kube::kVmims, "shop", api::text_at(*migrations("db")[0], {"metadata", "name"}));
  world.advance(seconds(1));
  EXPECT_EQ(api::text_at(vmi("db"), {"status", "migrationState", "abortStatus"}), "Aborting");
  world.advance(seconds(10));
  EXPECT_EQ(api::text_at(vmi("db"), {"status", "migrationState", "abortStatus"}), "Succeeded");
  EXPECT_TRUE(migrations("db").empty());
  EXPECT_EQ(launchers("db"), std::vector<std::string>{pod});
  world.advance(minutes(20));
  EXPECT_TRUE(migrations("db").empty()) << "nobody makes another";
}

/// The annotation that names the requester outlives a cancel, so a later drain counts as the descheduler's.
TEST_F(KubeVirtTest, ADrainAfterACancelRunsAtLowPriority) {
  begin("v1.9.0");
  const std::string pod = machine("db", "run=600s");
  const std::string body = "{\"evacuationNodeName\":\"" + node("db") + "\"}";
  evict(pod);
  ASSERT_EQ(cancel("db", body).code, 200);
  world.remove(kube::kVmims, "shop", api::text_at(*migrations("db").at(0), {"metadata", "name"}));
  world.advance(seconds(20));
  ASSERT_TRUE(migrations("db").empty());
  kube::EvictionOptions by_kubectl;
  by_kubectl.uid = uid_of(*world.pod(pod));
  ASSERT_EQ(send(kube::eviction_request({"shop", pod}, by_kubectl, "v1")).code, 429);
  world.advance(seconds(1));
  EXPECT_EQ(api::text_at(*migrations("db").at(0), {"spec", "priority"}), "system-maintenance");
}

TEST_F(KubeVirtTest, CancelNeedsTheNodeObjectEvenForUnmarkedVms) {
  begin();
  machine("db", "run=600s");
  const std::string source = node("db");
  world.edit(kube::kNodes, "", source, [](Json& object) {
    object["spec"]["taints"] = Json::array({{{"key", "kubevirt.io/drain"}, {"effect", "NoSchedule"}}});
  });
  EXPECT_EQ(cancel("db", "{").code, 400) << "the taint is looked at before mark and body";
  world.edit(kube::kVmis, "shop", "db", [](Json& object) { object["status"]["evacuationNodeName"] = "gone"; });
  const Reply gone = cancel("db", R"({"evacuationNodeName":"gone"})");
  EXPECT_EQ(gone.code, 500);
  EXPECT_EQ(gone.message(), "Internal error occurred: nodes \"gone\" not found") << "of the mark's node, not the VMI's";
}

struct AcceptCase {
  const char* name;
  const char* accept;
  int want;
};
class VirtApiAccept : public KubeVirtTest, public testing::WithParamInterface<AcceptCase> {};
TEST_P(VirtApiAccept, TakesOnlyClientsThatTakeAnything) {
  begin("v1.9.0");
  evict(machine("db", "run=600s"));
  const Reply reply = cancel("db", "{\"evacuationNodeName\":\"" + node("db") + "\"}", GetParam().accept);
  EXPECT_EQ(reply.code, GetParam().want);
  EXPECT_EQ(mark_of(vmi("db")).empty(), GetParam().want == 200);
  EXPECT_TRUE(reply.body.is_discarded()) << "neither a success nor a 406 is JSON";
}
INSTANTIATE_TEST_SUITE_P(KubeVirt, VirtApiAccept,
                         testing::Values(AcceptCase{"Json", "application/json", 406},
                                         AcceptCase{"JsonOrAnything", "application/json, */*", 200},
                                         AcceptCase{"Anything", "*/*", 200},
                                         AcceptCase{"WithQuality", "application/json,*/*;q=0.8", 200},
                                         AcceptCase{"None", "", 200},
                                         AcceptCase{"AnyApplication", "application/*", 406}),
                         [](const auto& test) { return test.param.name; });

TEST_F(KubeVirtTest, VirtApiRefusesCallersWithoutItsRight) {
  begin();
  evict(machine("db", "run=600s"));
  world.annotate(kube::kKubeVirts, "kubevirt", "kubevirt", behaviour::kVirtApi, "unauthorized");
  EXPECT_EQ(cancel("db", "{\"evacuationNodeName\":\"" + node("db") + "\"}").code, 401);
  EXPECT_EQ(mark_of(vmi("db")), node("db"));
}

struct LateAbort {
  const char* phase;
  const char* script;
};
class DeletedWhilePreparing : public KubeVirtTest, public testing::WithParamInterface<LateAbort> {};
TEST_P(DeletedWhilePreparing, IsAbortedOnceItRuns) {
  begin();
  machine("db", GetParam().script);
  const std::string source = node("db");
  ASSERT_EQ(migrate("db", "m").code, 201);
  ASSERT_TRUE(world.cluster.run_until([&] { return phases("db").at(0) == GetParam().phase; }, seconds(60)));
  world.remove(kube::kVmims, "shop", "m");
  world.advance(seconds(20));
  EXPECT_EQ(phases("db"), std::vector<std::string>{GetParam().phase}) << "nobody tells the nodes";
  EXPECT_FALSE(api::flag_at(vmi("db"), {"status", "migrationState", "abortRequested"}));
  world.advance(seconds(60));
  EXPECT_TRUE(migrations("db").empty());
  EXPECT_EQ(node("db"), source);
}
INSTANTIATE_TEST_SUITE_P(KubeVirt, DeletedWhilePreparing,
                         testing::Values(LateAbort{"PreparingTarget", "preparing=60s, abort=2s"},
                                         LateAbort{"TargetReady", "ready=60s, abort=2s"}),
                         [](const auto& test) { return std::string(test.param.phase); });

TEST_F(KubeVirtTest, ADeletedMigrationPassesThroughFailed) {
  begin();
  machine("db", "unschedulable");
  ASSERT_EQ(migrate("db", "m").code, 201);
  world.advance(seconds(5));
  world.remove(kube::kVmims, "shop", "m");
  world.cluster.run_until_quiet();
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Failed"});
  world.advance(seconds(2));
  EXPECT_TRUE(migrations("db").empty());
}

TEST_F(KubeVirtTest, DeletionAloneCreatesAnotherMigration) {
  begin();
  const std::string pod = machine("db", "run=600s");
  evict(pod);
  world.advance(seconds(20));
  const std::string first = uid_of(*migrations("db")[0]);
  world.remove(kube::kVmims, "shop", api::text_at(*migrations("db")[0], {"metadata", "name"}));
  world.advance(seconds(30));
  ASSERT_EQ(migrations("db").size(), 1u);
  EXPECT_NE(uid_of(*migrations("db")[0]), first);
}

TEST_F(KubeVirtTest, AbortBeforeTheHandOverIsImmediate) {
  begin();
  machine("db", "unschedulable");
  ASSERT_EQ(migrate("db", "m").code, 201);
  world.advance(seconds(5));
  ASSERT_EQ(phases("db"), std::vector<std::string>{"Scheduling"});
  ASSERT_EQ(launchers("db").size(), 2u);
  world.remove(kube::kVmims, "shop", "m");
  world.advance(seconds(1));
  EXPECT_TRUE(migrations("db").empty());
  EXPECT_EQ(launchers("db").size(), 1u);
}

TEST_F(KubeVirtTest, PostCopyCannotBeAborted) {
  begin();
  const std::string pod = machine("db", "run=60s, post-copy=2s");
  const std::string source = node("db");
  evict(pod);
  world.advance(seconds(20));
  EXPECT_EQ(api::text_at(vmi("db"), {"status", "migrationState", "mode"}), "PostCopy");
  world.remove(kube::kVmims, "shop", api::text_at(*migrations("db")[0], {"metadata", "name"}));
  world.advance(seconds(90));
  EXPECT_NE(node("db"), source);
}

TEST_F(KubeVirtTest, UnschedulableTargetFailsAfterFiveMinutes) {
  begin();
  const std::string pod = machine("db", "unschedulable");
  evict(pod);
  world.advance(seconds(290));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Scheduling"});
  world.advance(seconds(15));
  ASSERT_FALSE(phases("db").empty());
  EXPECT_EQ(phases("db").front(), "Failed");
}

TEST_F(KubeVirtTest, NeverStartsStaysPending) {
  begin();
  const std::string pod = machine("db", "never-starts");
  evict(pod);
  world.advance(minutes(90));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Pending"});
}

TEST_F(KubeVirtTest, KeepsItsLimits) {
  begin();
  world.annotate(kube::kKubeVirts, "kubevirt", "kubevirt", "x", "y");
  std::vector<std::string> pods;
  for (int i = 0; i < 9; ++i) {
    Json object = objects::virtual_machine("shop", "vm-" + std::to_string(i), "64Mi");
    objects::annotate(object, behaviour::kMigrationScript, "run=60s");
    object["spec"]["tolerations"] = Json::array();
    pods.push_back(start(std::move(object)));
  }
  for (const std::string& pod : pods) EXPECT_EQ(evict(pod).code, 429);
  bool five = false;
  for (int i = 0; i < 400; ++i) {
    world.advance(seconds(2));
    std::map<std::string, int> per_node;
    int total = 0;
    for (const Object& each : world.cluster.store().list(kube::kVmims, "shop")) {
      const std::string phase = api::text_at(*each, {"status", "phase"});
      if (is_final(*each) || phase.empty() || phase == "Pending") continue;
      ++total;
      ++per_node[node(api::text_at(*each, {"spec", "vmiName"}))];
    }
    EXPECT_LE(total, 5);
    five = five || total == 5;
    for (const auto& [name, count] : per_node) EXPECT_LE(count, 2) << name;
  }
  EXPECT_TRUE(five);
  for (const std::string& pod : pods) EXPECT_EQ(pod_phase(pod), "Succeeded");
}

TEST_F(KubeVirtTest, MigrationWebhookRefuses) {
  begin();
  machine("db", "run=600s");
  Json stuck = objects::virtual_machine("shop", "pinned", "1Gi");
  objects::annotate(stuck, behaviour::kNotMigratable, "DisksNotLiveMigratable: a disk is not shared");
  start(std::move(stuck));
  const std::string prefix = "admission webhook \"migration-create-validator.kubevirt.io\" denied the request: ";
  EXPECT_EQ(migrate("none", "m").code, 400);
  EXPECT_EQ(migrate("pinned", "m").message(),
            prefix + "Cannot migrate VMI, Reason: DisksNotLiveMigratable, Message: a disk is not shared");
  const Reply priority = migrate("db", "m", {{"priority", "system-critical"}});
  EXPECT_EQ(priority.code, 422);
  EXPECT_EQ(priority.message(), prefix + "MigrationPriorityQueue feature gate is not enabled in kubevirt resource");
  EXPECT_EQ(migrate("db", "m").code, 201);
  const std::string uid = uid_of(*migrations("db").at(0));
  const Reply again = migrate("db", "m");
  EXPECT_EQ(again.code, 400) << "not 409: the check comes before the storage";
  EXPECT_EQ(again.message(), prefix + "in-flight migration detected. Active migration job (" + uid +
                                 ") is currently already in progress for VMI db.");
}

struct PriorityCase {
  const char* name;
  const char* version;
  std::vector<std::string> gates;
  std::string of_evacuation;
  int of_user;  ///< Code of the answer to a user who sets a priority
};
class MigrationPriorities : public KubeVirtTest, public testing::WithParamInterface<PriorityCase> {};
TEST_P(MigrationPriorities, ByVersionAndGate) {
  begin(GetParam().version, "", GetParam().gates);
  const std::string pod = machine("db", "run=60s");
  machine("other");
  EXPECT_EQ(evict(pod).code, 429);
  ASSERT_EQ(migrations("db").size(), 1u);
  EXPECT_EQ(api::text_at(*migrations("db")[0], {"spec", "priority"}), GetParam().of_evacuation);
  EXPECT_EQ(migrate("other", "m", {{"priority", "system-critical"}}).code, GetParam().of_user);
}
INSTANTIATE_TEST_SUITE_P(
    KubeVirt, MigrationPriorities,
    testing::Values(PriorityCase{"V16HasNoSuchField", "v1.6.0", {"MigrationPriorityQueue"}, "", 201},
                    PriorityCase{"V17WithoutTheGate", "v1.7.0", {}, "", 422},
                    PriorityCase{"V17WithTheGate", "v1.7.0", {"MigrationPriorityQueue"}, "system-maintenance", 422},
                    PriorityCase{"V18IsOffByDefault", "v1.8.4", {"Other"}, "", 422},
                    PriorityCase{"V19Always", "v1.9.0", {}, "system-maintenance", 422}),
    [](const auto& test) { return std::string(test.param.name); });

struct SelectorCase {
  const char* name;
  const char* version;
  const char* own;    ///< Value of "side" in the VMI's own selector
  const char* lands;  ///< Value of "side" that the target pod must have
};
class AddedNodeSelector : public KubeVirtTest, public testing::WithParamInterface<SelectorCase> {};
TEST_P(AddedNodeSelector, CountsSince16AndYieldsToThatOfTheVm) {
  begin(GetParam().version);
  Json object = objects::virtual_machine("shop", "db", "1Gi");
  object["spec"]["nodeSelector"]["kubernetes.io/os"] = "linux";
  start(std::move(object));
  if (*GetParam().own)
    world.edit(kube::kVmis, "shop", "db", [&](Json& vmi) { vmi["spec"]["nodeSelector"]["side"] = GetParam().own; });
  ASSERT_EQ(migrate("db", "m", {{"addedNodeSelector", {{"side", "left"}, {"kubernetes.io/os", "linux"}}}}).code, 201);
  world.advance(seconds(5));
  std::string side;
  for (const Object& each : world.pods()) {
    if (!label_of(*each, kJobUid).empty()) side = api::text_at(*each, {"spec", "nodeSelector", "side"});
  }
  EXPECT_EQ(side, GetParam().lands);
}
INSTANTIATE_TEST_SUITE_P(KubeVirt, AddedNodeSelector,
                         testing::Values(SelectorCase{"V15DropsIt", "v1.5.0", "", ""},
                                         SelectorCase{"V16", "v1.6.0", "", "left"},
                                         SelectorCase{"TheMachinesOwnWins", "v1.7.0", "right", "right"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(KubeVirtTest, StrictServersRefuseTheSelectorBefore16) {
  begin("v1.5.0");
  machine("db");
  const Json body = {{"apiVersion", "kubevirt.io/v1"},
                     {"kind", "VirtualMachineInstanceMigration"},
                     {"metadata", {{"name", "m"}, {"namespace", "shop"}}},
                     {"spec", {{"vmiName", "db"}, {"addedNodeSelector", {{"zone", "a"}}}}}};
  kube::Request request = kube::create_request(kube::kVmims, "shop", body);
  request.query = "fieldValidation=Strict";
  const Reply reply = send(request);
  EXPECT_EQ(reply.code, 400);
  EXPECT_NE(reply.message().find("unknown field \"spec.addedNodeSelector\""), std::string::npos) << reply.message();
  EXPECT_TRUE(migrations("db").empty());
}

TEST_F(KubeVirtTest, MigrationsNeedNoLiveMigratableCondition) {
  begin();
  machine("db", "run=5s");
  world.edit(kube::kVmis, "shop", "db", [](Json& object) { object["status"]["conditions"] = Json::array(); });
  EXPECT_EQ(migrate("db", "m").code, 201) << "only False refuses";
}

/// Pending timeouts come from the annotations of the migration, not from those of the VMI.
TEST_F(KubeVirtTest, PendingTimeoutsAreThoseOfTheMigration) {
  begin();
  Json object = objects::virtual_machine("shop", "db", "1Gi");
  objects::annotate(object, behaviour::kMigrationScript, "unschedulable");
  objects::annotate(object, kUnschedulableTimeout, "20");
  start(std::move(object));
  ASSERT_EQ(migrate("db", "m").code, 201);
  world.advance(seconds(60));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Scheduling"});
  world.annotate(kube::kVmims, "shop", "m", kUnschedulableTimeout, "70");
  world.advance(seconds(15));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Failed"});
}

/// Neither a failed migration of a user nor a migration in deletion may delay an evacuation.
TEST_F(KubeVirtTest, BackOffCountsKubeVirtsOwnMigrationsOnly) {
  begin();
  const std::string pod = machine("db", "run=1s, fail=1");
  ASSERT_EQ(migrate("db", "m").code, 201);
  ASSERT_TRUE(world.cluster.run_until([&] { return phases("db").at(0) == "Failed"; }, seconds(60)));
  evict(pod);
  world.advance(seconds(2));
  ASSERT_EQ(phases("db").size(), 2u);
  EXPECT_NE(phases("db")[1], "Pending") << "no back-off";
}

TEST_F(KubeVirtTest, UserMigrationIsOneShot) {
  begin();
  machine("db", "run=2s, fail=1");
  ASSERT_EQ(migrate("db", "m", {{"addedNodeSelector", {{"kubernetes.io/os", "linux"}}}}).code, 201);
  world.advance(seconds(30));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Failed"});
  world.advance(minutes(30));
  EXPECT_EQ(phases("db"), std::vector<std::string>{"Failed"});
  ASSERT_EQ(migrate("db", "n").code, 201);
  world.advance(seconds(30));
  EXPECT_EQ(phases("db").back(), "Succeeded") << "no back-off for users";
}

TEST_F(KubeVirtTest, UserMigrationClearsTheMark) {
  begin();
  const std::string pod = machine("db", "run=60s");
  const std::string source = node("db");
  ASSERT_EQ(migrate("db", "m").code, 201);
  world.advance(seconds(10));
  EXPECT_EQ(evict(pod).code, 429);
  EXPECT_EQ(migrations("db").size(), 1u) << "no second one beside it";
  world.advance(seconds(120));
  EXPECT_NE(node("db"), source);
  EXPECT_EQ(mark_of(vmi("db")), "");
  EXPECT_EQ(migrations("db").size(), 1u);
}

TEST_F(KubeVirtTest, ExternalWaitsForAnotherComponent) {
  begin();
  const std::string pod = machine("db", "external=60s", "External");
  EXPECT_EQ(evict(pod).code, 429);
  world.advance(seconds(50));
  EXPECT_TRUE(migrations("db").empty());
  EXPECT_EQ(pod_phase(pod), "Running");
  world.advance(seconds(60));
  EXPECT_EQ(phase("db"), "");
  EXPECT_EQ(pod_phase(pod), "(gone)");
}

TEST_F(KubeVirtTest, GuestShutsDownMidway) {
  begin();
  const std::string pod = machine("db", "run=60s, shutdown=5s");
  evict(pod);
  world.advance(seconds(60));
  EXPECT_EQ(phase("db"), "");
  EXPECT_TRUE(migrations("db").empty()) << "they go with their VMI";
}

TEST_F(KubeVirtTest, MachineDeletedMidway) {
  begin();
  const std::string pod = machine("db", "run=60s");
  evict(pod);
  world.advance(seconds(10));
  world.remove(kube::kVmis, "shop", "db");
  world.advance(seconds(60));
  EXPECT_TRUE(migrations("db").empty());
  EXPECT_TRUE(world.pods().empty());
}

TEST_F(KubeVirtTest, WithoutStrategyTheGuestIsShutDown) {
  begin();
  Json object = objects::virtual_machine("shop", "db", "1Gi", "");
  objects::annotate(object, behaviour::kRestartVm, "true");
  const std::string pod = start(std::move(object));
  const std::string uid = uid_of(vmi("db"));
  EXPECT_EQ(evict(pod).code, 201);
  world.advance(seconds(30));
  EXPECT_EQ(pod_phase(pod), "(gone)");
  EXPECT_NE(uid_of(vmi("db")), uid) << "its VirtualMachine made it again";
  EXPECT_EQ(phase("db"), "Running");
}

struct DownCase {
  const char* version;
  int want;
};
class VirtApiDown : public KubeVirtTest, public testing::WithParamInterface<DownCase> {};
TEST_P(VirtApiDown, FailsClosedSince15) {
  begin(GetParam().version);
  const std::string pod = machine("db");
  world.annotate(kube::kKubeVirts, "kubevirt", "kubevirt", behaviour::kVirtApi, "down");
  const Reply reply = evict(pod);
  EXPECT_EQ(reply.code, GetParam().want) << reply.message();
  if (reply.code == 500) {
    EXPECT_NE(reply.message().find("failed calling webhook \"virt-launcher"), std::string::npos);
  }
}
INSTANTIATE_TEST_SUITE_P(KubeVirt, VirtApiDown, testing::Values(DownCase{"v1.7.0", 500}, DownCase{"v1.6.0", 500}));

TEST_F(KubeVirtTest, Version14SecondCallMeetsTheBudget) {
  begin("v1.4.0");
  const std::string pod = machine("db", "run=60s");
  world.advance(seconds(60));
  ASSERT_TRUE(world.get(kube::kPdbs, "shop", "kubevirt-disruption-budget-db"));
  EXPECT_EQ(evict(pod).code, 429);
  EXPECT_EQ(evict(pod).message(), "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(cancel("db", R"({"evacuationNodeName":"x"})").code, 404) << "no such path before 1.7";
  world.advance(seconds(10));
  const auto both = launchers("db");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(evict(both[0] == pod ? both[1] : both[0]).message(),
            "Cannot evict pod as it would violate the pod's disruption budget.")
      << "its target pod passes to the budget, too";
}

TEST_F(KubeVirtTest, Version16HasNoBudgetsAndRemovesOldOnes) {
  begin("v1.4.0");
  const std::string pod = machine("db", "run=60s");
  ASSERT_TRUE(world.get(kube::kPdbs, "shop", "kubevirt-disruption-budget-db"));
  world.edit(kube::kKubeVirts, "kubevirt", "kubevirt",
             [](Json& object) { object["status"]["observedKubeVirtVersion"] = "v1.6.0"; });
  world.advance(seconds(1));
  EXPECT_FALSE(world.get(kube::kPdbs, "shop", "kubevirt-disruption-budget-db"));
  EXPECT_EQ(evict(pod).code, 429);
  world.advance(seconds(1));
  EXPECT_EQ(migrations("db").size(), 1u);
}

TEST_F(KubeVirtTest, DrainTaintMovesAllAndForbidsTheCancel) {
  begin();
  machine("db", "run=600s");
  const std::string source = node("db");
  world.edit(kube::kNodes, "", source, [](Json& object) {
    object["spec"]["taints"] = Json::array({{{"key", "kubevirt.io/drain"}, {"effect", "NoSchedule"}}});
  });
  world.advance(seconds(1));
  EXPECT_EQ(migrations("db").size(), 1u);
  world.edit(kube::kVmis, "shop", "db", [&](Json& object) { object["status"]["evacuationNodeName"] = source; });
  const Reply reply = cancel("db", "{\"evacuationNodeName\":\"" + source + "\"}");
  EXPECT_EQ(reply.code, 400);
  EXPECT_EQ(reply.message(), "Node \"" + source +
                                 "\" has NodeDrainTaintKey "
                                 "\"&Taint{Key:kubevirt.io/drain,Value:,Effect:NoSchedule,TimeAdded:<nil>,}\"");
}

}  // namespace kubevirt_test
}  // namespace simulator::kubevirt
