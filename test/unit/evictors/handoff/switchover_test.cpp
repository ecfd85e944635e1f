#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/json_access.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "test/unit/evictors/objects.hpp"

/// The PostgreSQL adapters. A primary must be switched over first and then be evicted as a replica.
namespace handoff_switchover_test {

using namespace evictors_test;
using api::EvacuationPhase;
using api::Json;
using evictors::Document;
using evictors::NextMove;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::handoff::StatefulHandoff;

using Strings = std::vector<std::pair<std::string, std::string>>;

struct Flavour {
  const char* adapter;
  const char* cluster_label;
  const char* role_label;
  const char* primary;
  const char* cluster_document;  ///< Empty for none
};
void PrintTo(const Flavour& flavour, std::ostream* out) { *out << flavour.adapter; }

const Flavour kCnpg{"cloudnative-pg", "cnpg.io/cluster", "cnpg.io/instanceRole", "primary", "cluster"};
const Flavour kPatroni{"patroni", "cluster-name", "spilo-role", "master", ""};
const Flavour kEdb{"cloudnative-pg", "k8s.enterprisedb.io/cluster", "k8s.enterprisedb.io/instanceRole", "primary",
                   "cluster"};
const Flavour kPgo{"pgo", "postgres-operator.crunchydata.com/cluster", "postgres-operator.crunchydata.com/role",
                   "master", "postgrescluster"};

Json instance(const std::string& name, const std::string& node, const std::string& role, const Flavour& flavour,
              bool ready = true) {
  return {{"metadata",
           {{"name", name},
            {"namespace", "shop"},
            {"uid", name + "-uid"},
            {"labels",
             {{flavour.role_label, role}, {"postgres-operator.crunchydata.com/instance", "instance-of-" + name}}}}},
          {"spec", {{"nodeName", node}}},
          {"status",
           {{"phase", "Running"},
            {"conditions", Json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
}

Json cluster_of(const Flavour& flavour, const std::string& current, const std::string& target) {
  Json object = {{"kind", "Cluster"},
                 {"metadata", {{"name", "pg"}, {"uid", "cluster-uid"}, {"resourceVersion", "77"}}}};
  if (std::string(flavour.adapter) == "cloudnative-pg") {
    object["status"] = {{"currentPrimary", current}, {"targetPrimary", target}, {"phase", "Cluster in healthy state"}};
  } else {
    object["spec"]["patroni"]["switchover"]["enabled"] = true;
  }
  return object;
}

Document key(const std::string& name, Json annotations) {
  return {"patroni/" + name, 200, Json{{"metadata", {{"annotations", std::move(annotations)}}}}.dump()};
}
Document no_key(const std::string& name) { return {"patroni/" + name, 404, "{}"}; }

/// One step of an Evacuation of shop/web-1 on node-a, with the documents read for it.
struct World {
  explicit World(const Flavour& its_flavour, const std::string& role,
                 EvacuationPhase phase = EvacuationPhase::kRequesting)
      : flavour(its_flavour), of(evacuation(phase)), target(pod()) {
    of.status.evictor = "stateful-handoff";
    of.status.adapter = flavour.adapter;
    Strings labels = {{flavour.cluster_label, "pg"}, {flavour.role_label, role}};
    if (std::string(flavour.adapter) == "pgo")
      labels.emplace_back("postgres-operator.crunchydata.com/instance", "pg-a");
    target.meta.labels = api::StringMap(labels);
    target.node_name = {"node-a"};
    pgo_leader = role == "replica" ? "web-2" : "web-1";
    cluster = cluster_of(flavour, role == "replica" ? "web-2" : "web-1", role == "replica" ? "web-2" : "web-1");
    items = Json::array(
        {instance("web-1", "node-a", role, flavour), instance("web-3", "node-c", "replica", flavour),
         instance("web-2", "node-b", std::string(role) == "replica" ? flavour.primary : "replica", flavour)});
  }

  evictors::EvictorContext look() {
    documents.clear();
    if (*flavour.cluster_document) documents.push_back({flavour.cluster_document, cluster_status, cluster.dump()});
    for (const Document& each : more) documents.push_back(each);
    const bool has_keys = std::ranges::any_of(more, [](const auto& each) { return each.name.starts_with("patroni/"); });
    if (std::string(flavour.adapter) == "pgo" && !has_keys)
      documents.push_back(key("leader-endpoints", {{"leader", pgo_leader}}));
    documents.push_back({"instances", instances_status, Json{{"kind", "PodList"}, {"items", items}}.dump()});
    auto context = evictors_test::context(of, target);
    context.parameters = {{"switchover", opted_in ? "true" : "false"}};
    context.documents = documents;
    return context;
  }
  std::string failure() {
    const auto seen = StatefulHandoff().observe(look());
    return seen.failed ? seen.failed->reason : "";
  }

  const Flavour& flavour;
  api::Evacuation of;
  api::Pod target;
  Json cluster;
  Json items;
  bool opted_in = true;
  std::vector<Document> more;
  std::string pgo_leader;  ///< PGO's Patroni always keeps its leader key in Endpoints
  int cluster_status = 200;
  int instances_status = 200;
  std::vector<Document> documents;
};

class Switchover : public testing::TestWithParam<Flavour> {};
INSTANTIATE_TEST_SUITE_P(Adapters, Switchover, testing::Values(kCnpg, kPatroni, kPgo, kEdb), [](const auto& info) {
  return std::string(info.param.cluster_label) == kEdb.cluster_label ? "edb"
                                                                     : std::string(info.param.adapter).substr(0, 5);
});

TEST_P(Switchover, EvictsAReplicaAtOnce) {
  for (const bool opted_in : {true, false}) {
    World world(GetParam(), "replica");
    world.opted_in = opted_in;
    const auto plan = StatefulHandoff().plan(world.look());
    ASSERT_EQ(plan.next, NextMove::kAct);
    EXPECT_EQ(plan.action->name, "PostEviction");
  }
}

TEST_P(Switchover, SwitchesAPrimaryOverToAReadyReplicaElsewhere) {
  World world(GetParam(), GetParam().primary);
  const auto plan = StatefulHandoff().plan(world.look());
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "RequestSwitchover");
  EXPECT_TRUE(plan.action->service.empty());
}

TEST_P(Switchover, TouchesNothingWithoutOptIn) {
  World world(GetParam(), GetParam().primary);
  world.opted_in = false;
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
  EXPECT_TRUE(StatefulHandoff().reads(world.look()).empty());
  const auto probe = StatefulHandoff().probe(world.look());
  EXPECT_EQ(probe.support, evictors::Support::kUnsupported);
  EXPECT_NE(probe.reason.find("evacuator-handoff-"), std::string::npos) << "names the role to bind";
}

TEST_P(Switchover, ProtectsAPrimaryFromEveryOtherEvictor) {
  for (const char* role : {"primary", "master", "", "unhealthy"}) {
    World world(GetParam(), role);
    world.of.status.evictor.clear();
    world.of.status.adapter.clear();
    world.opted_in = false;
    EXPECT_TRUE(StatefulHandoff().owner_decides(world.look())) << role;
  }
}

TEST_P(Switchover, AdvisesASwitchoverForAPrimaryOnly) {
  World primary(GetParam(), GetParam().primary);
  primary.opted_in = false;
  EXPECT_NE(StatefulHandoff().advice(primary.look()).find("switchover"), std::string::npos);
  World replica(GetParam(), "replica");
  EXPECT_EQ(StatefulHandoff().advice(replica.look()), "");
}

TEST_P(Switchover, EvictsAReplicaOnlyWhileAnotherReadyMemberLeads) {
  const Flavour& f = GetParam();
  Json leaving = instance("web-2", "node-b", f.primary, f);
  leaving["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
  Json ended = instance("web-2", "node-b", f.primary, f);
  ended["status"]["phase"] = "Failed";
  Json job = instance("web-2", "node-b", f.primary, f);
  job["metadata"]["labels"]["job-name"] = "backup";
  const std::vector<std::pair<const char*, Json>> rows = {
      {"nobody leads", instance("web-2", "node-b", "replica", f)},
      {"the leader is not Ready", instance("web-2", "node-b", f.primary, f, false)},
      {"the leader is leaving", leaving},
      {"the leader has ended", ended},
      {"a pod without a role", instance("web-2", "node-b", "", f)},
      {"the pod itself", instance("web-1", "node-a", f.primary, f)},
      {"a Job's pod", job},
  };
  for (const auto& [what, other] : rows) {
    for (const bool opted_in : {true, false}) {
      World world(f, "replica", EvacuationPhase::kInProgress);
      world.opted_in = opted_in;
      world.items = Json::array({other});
      EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << what;
      EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready) << what;
    }
  }
}

TEST_P(Switchover, AReplicaThatBecamePrimaryWithoutTheOptInFailsWithAHint) {
  World world(GetParam(), GetParam().primary, EvacuationPhase::kInProgress);
  world.opted_in = false;
  const auto failed = StatefulHandoff().observe(world.look()).failed;
  ASSERT_TRUE(failed);
  EXPECT_FALSE(failed->retryable);
  EXPECT_EQ(failed->complete_reason, api::Reason::kNotEvictable);
  EXPECT_NE(failed->message.find("set parameter switchover"), std::string::npos) << failed->message;
}

TEST_P(Switchover, IsUnsupportedAfterAMinuteWithoutARequest) {
  struct Row {
    const char* what;
    int seconds;
    const char* role;
    bool was_requested;
    bool fails;
  };
  const std::vector<Row> rows = {{"not yet", 59, "", false, false},
                                 {"no role", 60, "", false, true},
                                 {"another role", 60, "unhealthy", false, true},
                                 {"a replica without a leader", 60, "replica", false, true},
                                 {"the switchover was asked for", 3600, "", true, false}};
  for (const Row& row : rows) {
    for (const bool opted_in : {true, false}) {
      World world(GetParam(), row.role, EvacuationPhase::kInProgress);
      world.opted_in = opted_in;
      world.items = Json::array();
      world.cluster["status"] = nullptr;
      world.of.status.in_progress_since = kNoon - base::seconds(row.seconds);
      if (row.was_requested)
        world.of.status.intent = api::EvacuationIntent{"RequestSwitchover", kToken, kNoon, true, "", ""};
      const auto failed = StatefulHandoff().observe(world.look()).failed;
      ASSERT_EQ(failed.has_value(), row.fails) << row.what;
      if (!failed) continue;
      EXPECT_EQ(failed->reason, "Unsupported") << row.what;
      EXPECT_EQ(failed->complete_reason, api::Reason::kNotEvictable) << row.what;
      EXPECT_FALSE(failed->retryable) << row.what;
    }
  }
}

TEST_P(Switchover, CountsAReplacementOnceItHasARole) {
  World world(GetParam(), "replica", EvacuationPhase::kVerifying);
  auto context = world.look();
  context.pod = nullptr;
  for (const char* role : {"replica", GetParam().primary, "", "uninitialized"}) {
    api::Pod next = world.target;
    next.meta.labels = api::StringMap(Strings{{GetParam().role_label, role}});
    const bool serves = std::string(role) == "replica" || std::string(role) == GetParam().primary;
    EXPECT_EQ(StatefulHandoff().is_in_service(context, next), serves) << role;
  }
}

Document node(const std::string& name, const Json& spec) {
  return {"node/" + name, 200, Json{{"items", Json::array({{{"spec", spec}}})}}.dump()};
}

TEST_P(Switchover, SkipsNodesThatAreBeingEmptied) {
  const std::vector<std::pair<const char*, Document>> rows = {
      {"cordoned", node("node-b", {{"unschedulable", true}})},
      {"the autoscaler removes it", node("node-b", {{"taints", {{{"key", "ToBeDeletedByClusterAutoscaler"}}}}})},
      {"Karpenter disrupts it", node("node-b", {{"taints", {{{"key", "karpenter.sh/disrupted"}}}}})},
      {"it is gone", {"node/node-b", 200, R"({"items":[]})"}},
  };
  for (const auto& [what, document] : rows) {
    World world(GetParam(), GetParam().primary);
    world.items.erase(1);
    world.more = {document};
    EXPECT_EQ(world.failure(), "NoHealthyReplica") << what;
    const auto failed = StatefulHandoff().observe(world.look()).failed;
    EXPECT_NE(failed->message.find("web-2: node node-b"), std::string::npos) << failed->message;
  }
  for (const Document& unknown :
       {node("node-b", Json::object()), node("node-b", {{"taints", "x"}}), Document{"node/node-b", 200, "{}"},
        Document{"node/node-b", 403, "no"}, Document{"node/node-b", 0, "no answer"}}) {
    World world(GetParam(), GetParam().primary);
    world.more = {unknown};
    EXPECT_EQ(world.failure(), "") << unknown.body;
  }
}

TEST_P(Switchover, ReadsTheNodesOfTheCandidatesAndWhichOfThemLeave) {
  World world(GetParam(), GetParam().primary);
  std::vector<std::string> names;
  std::vector<std::string> asked_about;
  for (const auto& read : StatefulHandoff().reads(world.look())) {
    names.push_back(read.name);
    if (!read.pods.empty()) asked_about = read.pods;
  }
  for (const char* node : {"node/node-b", "node/node-c"})
    EXPECT_NE(std::ranges::find(names, node), names.end()) << node;
  EXPECT_EQ(asked_about, (std::vector<std::string>{"web-3", "web-2"}));
}

TEST_P(Switchover, WaitsWhileTheRoleIsUnknown) {
  for (const char* role : {"", "unhealthy", "uninitialized", "Replica"}) {
    World world(GetParam(), role);
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << role;
    EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready) << role;
  }
}

TEST_P(Switchover, ReportsThatThereIsNoCandidate) {
  const Flavour& f = GetParam();
  struct Row {
    const char* what;
    Json items;
  };
  Json leaving = instance("web-2", "node-b", "replica", f);
  leaving["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
  const std::vector<Row> rows = {
      {"alone", Json::array({instance("web-1", "node-a", f.primary, f)})},
      {"unready", Json::array({instance("web-2", "node-b", "replica", f, false)})},
      {"on the same node", Json::array({instance("web-2", "node-a", "replica", f)})},
      {"leaving", Json::array({leaving})},
      {"no items", Json::object()},
      {"nonsense", Json::array({1, "x", nullptr, Json::object(), Json{{"metadata", 7}}})},
  };
  for (const Row& row : rows) {
    World world(f, f.primary);
    world.items = row.items;
    EXPECT_EQ(world.failure(), "NoHealthyReplica") << row.what;
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << row.what;
  }
}

TEST_P(Switchover, ReportsAForbiddenReadAndWaitsAfterAFailedOne) {
  World world(GetParam(), GetParam().primary);
  world.instances_status = 403;
  EXPECT_EQ(world.failure(), "Forbidden");
  for (const int code : {0, 500, 503}) {
    world.instances_status = code;
    EXPECT_EQ(world.failure(), "") << code;
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << code;
  }
}

std::string chosen(World& world) {
  const auto plan = StatefulHandoff().plan(world.look());
  if (!plan.action) return "";
  const Json body = Json::parse(plan.action->request.body);
  return body.contains("candidate") ? body["candidate"] : body["status"]["targetPrimary"];
}

TEST(Candidates, ThatAnotherEvacuationMovesComeLast) {
  for (const Flavour* flavour : {&kCnpg, &kPatroni}) {
    World world(*flavour, flavour->primary);
    EXPECT_EQ(chosen(world), "web-2") << "the first by name";
    world.more = {{"evacuated", 200, R"(["web-2"])"}};
    EXPECT_EQ(chosen(world), "web-3");
    world.more = {{"evacuated", 200, R"(["web-2","web-3"])"}};
    EXPECT_EQ(chosen(world), "web-2") << "better than none";
    for (const char* nonsense : {"", "{}", "[1,null]", "x"}) {
      world.more = {{"evacuated", 200, nonsense}};
      EXPECT_EQ(chosen(world), "web-2") << nonsense;
    }
  }
}

Document wal(const std::string& pod, bool active, const char* lsn) {
  return {"instance-status/" + pod, 200, Json{{"isWalReceiverActive", active}, {"receivedLsn", lsn}}.dump()};
}

TEST(CloudNativePg, PrefersTheStreamingReplicaWithTheLatestWal) {
  World world(kCnpg, "primary");
  world.more = {wal("web-2", true, "0/3000060"), wal("web-3", true, "1/0")};
  EXPECT_EQ(chosen(world), "web-3");
  world.more = {wal("web-2", true, "0/3000060"), wal("web-3", false, "1/0")};
  EXPECT_EQ(chosen(world), "web-2");
  world.more = {wal("web-2", false, "0/3"), wal("web-3", false, "1/0")};
  EXPECT_EQ(world.failure(), "NoHealthyReplica");
  for (const char* lsn : {"", "x", "0/x", "/", "ffffffffff/0", "-1/0"}) {
    world.more = {wal("web-2", true, lsn), wal("web-3", true, lsn)};
    EXPECT_EQ(chosen(world), "web-2") << lsn;
  }
  for (const int code : {0, 403, 404, 500}) {
    world.more = {{"instance-status/web-2", code, "no"}, {"instance-status/web-3", code, "no"}};
    EXPECT_EQ(chosen(world), "web-2") << "the right to read it is optional: " << code;
    EXPECT_EQ(world.failure(), "") << code;
  }
}

TEST(CloudNativePg, PrefersAReplicaThatAnswersToOneThatDoesNot) {
  const Document skipped{.name = "instance-status/web-3", .body = "not sent", .was_skipped = true};
  for (const int code : {0, 500, 503}) {
    World world(kCnpg, "primary");
    world.more = {{"instance-status/web-2", code, "timeout"}, skipped};
    EXPECT_EQ(chosen(world), "web-3") << code;
    world.more = {{"instance-status/web-2", code, "timeout"}, wal("web-3", true, "0/1")};
    EXPECT_EQ(chosen(world), "web-3") << code;
    world.more.push_back({"evacuated", 200, R"(["web-3"])"});
    EXPECT_EQ(chosen(world), "web-3") << "it can move again: " << code;
    world.more = {wal("web-2", true, "0/1"), {"instance-status/web-3", code, "timeout"}};
    EXPECT_EQ(chosen(world), "web-2") << code;
  }
}

TEST(CloudNativePg, ReadsTheStatusOfItsCandidatesByThePodProxy) {
  World world(kCnpg, "primary");
  std::string path;
  for (const auto& read : StatefulHandoff().reads(world.look())) {
    if (read.name == "instance-status/web-2") path = read.request.path;
  }
  EXPECT_EQ(path, "/api/v1/namespaces/shop/pods/https:web-2:8000/proxy/pg/status");
  for (const auto& read : StatefulHandoff().reads(world.look())) {
    EXPECT_EQ(read.optional, read.name.starts_with("instance-status/")) << read.name;
    if (read.optional) {
      EXPECT_EQ(read.request.timeout, base::seconds(1)) << read.name;
    }
  }
}

TEST(CloudNativePg, OfEdbIsPatchedInItsOwnApiGroup) {
  World world(kEdb, "primary");
  const auto plan = StatefulHandoff().plan(world.look());
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->request.path, "/apis/postgresql.k8s.enterprisedb.io/v1/namespaces/shop/clusters/pg/status");
}

TEST(CloudNativePg, TrustsOnlyTheClusterAboutAnotherPrimary) {
  World world(kCnpg, "replica", EvacuationPhase::kInProgress);
  world.cluster["status"] = {{"currentPrimary", "web-3"}, {"targetPrimary", "web-3"}};
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready) << "the label says web-2";
}

TEST(CloudNativePg, PatchesTheStatusGuarded) {
  World world(kCnpg, "primary");
  const auto plan = StatefulHandoff().plan(world.look());
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->request.path, "/apis/postgresql.cnpg.io/v1/namespaces/shop/clusters/pg/status");
  const Json body = Json::parse(plan.action->request.body);
  EXPECT_EQ(body["metadata"], (Json{{"uid", "cluster-uid"}, {"resourceVersion", "77"}}));
  EXPECT_EQ(body["status"]["targetPrimary"], "web-2") << "the first by name on another node";
  EXPECT_EQ(body["status"]["targetPrimaryTimestamp"], "2026-11-21T12:00:00.000000Z");
  EXPECT_EQ(body["status"]["phase"], "Switchover in progress");
  EXPECT_EQ(body["status"]["conditions"], Json::array({{{"type", "Ready"},
                                                        {"status", "False"},
                                                        {"reason", "ClusterIsNotReady"},
                                                        {"message", "Cluster Is Not Ready"},
                                                        {"lastTransitionTime", "2026-11-21T12:00:00Z"}}}));
  EXPECT_NE(body["status"]["phaseReason"].get<std::string>().find(kToken), std::string::npos);
  const auto verdict =
      StatefulHandoff().classify(world.look(), *plan.action, kube::Response{200, R"({"kind":"Cluster"})", {}, ""});
  EXPECT_EQ(verdict.answer, ResponseClass::kApplied);
  EXPECT_EQ(verdict.refs, (evictors::Refs{{"targetPrimary", "web-2"}}));
}

/// The status patch must equal that of `kubectl cnpg promote`: the condition follows the phase, other conditions stay
/// unchanged.
TEST(CloudNativePg, SetsTheReadyConditionAsPromoteDoes) {
  World world(kCnpg, "primary");
  const Json other = {{"type", "ContinuousArchiving"}, {"status", "True"}, {"reason", "Fine"}, {"extra", 7}};
  const Json last = {{"type", "LastBackupSucceeded"}, {"status", "True"}};
  const Json ready = {{"type", "Ready"},
                      {"status", "True"},
                      {"reason", "ClusterIsReady"},
                      {"message", "Cluster is Ready"},
                      {"lastTransitionTime", "2026-11-20T12:00:00Z"}};
  world.cluster["metadata"]["generation"] = 5;
  world.cluster["status"]["conditions"] = Json::array({other, ready, last});
  const auto conditions_sent = [&] {
    return Json::parse(StatefulHandoff().plan(world.look()).action->request.body)["status"]["conditions"];
  };
  Json sent = conditions_sent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0], other);
  EXPECT_EQ(sent[2], last);
  EXPECT_EQ(sent[1]["status"], "False");
  EXPECT_EQ(sent[1]["reason"], "ClusterIsNotReady");
  EXPECT_EQ(sent[1]["message"], "Cluster Is Not Ready");
  EXPECT_EQ(sent[1]["observedGeneration"], 5);
  EXPECT_EQ(sent[1]["lastTransitionTime"], "2026-11-21T12:00:00Z");
  world.cluster["status"]["conditions"][1]["status"] = "False";
  EXPECT_EQ(conditions_sent()[1]["lastTransitionTime"], "2026-11-20T12:00:00Z") << "its status does not change";
  for (const Json& nonsense : {Json("x"), Json::object(), Json::array({1, "x", nullptr})}) {
    world.cluster["status"]["conditions"] = nonsense;
    sent = conditions_sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.back()["type"], "Ready") << nonsense.dump();
  }
}

TEST(CloudNativePg, IsReadyOnceLabelAndClusterAgree) {
  World world(kCnpg, "replica", EvacuationPhase::kInProgress);
  EXPECT_TRUE(StatefulHandoff().observe(world.look()).ready);
  world.cluster["status"]["targetPrimary"] = "web-1";  // Switching back to the evacuated pod
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready);
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
  world.cluster["status"] = {{"currentPrimary", "web-1"}, {"targetPrimary", "web-2"}};
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready);
}

TEST(CloudNativePg, FollowsASwitchoverByAnotherClient) {
  World world(kCnpg, "primary");
  world.cluster["status"]["targetPrimary"] = "web-3";
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
  EXPECT_TRUE(StatefulHandoff().observe(world.look()).requested);
  world.of.status.phase = EvacuationPhase::kAborting;
  EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty());
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kNothingToDo);
}

/// Setting the old primary as the target again while it shuts down leads to two primaries.
TEST(CloudNativePg, NeverRevertsAnAcceptedSwitchover) {
  struct Row {
    const char* what;
    Json status;
    int code;
    Rollback rollback;
  };
  const auto cluster = [](const char* current, const char* target) {
    return Json{{"currentPrimary", current}, {"targetPrimary", target}};
  };
  const std::vector<Row> rows = {
      {"under way", cluster("web-1", "web-2"), 200, Rollback::kRemoteMarkRemains},
      {"over another instance", cluster("web-3", "web-2"), 200, Rollback::kRemoteMarkRemains},
      {"through", cluster("web-2", "web-2"), 200, Rollback::kNothingToDo},
      {"somebody else chose another target", cluster("web-1", "web-3"), 200, Rollback::kNothingToDo},
      {"not known is not done", cluster("web-1", "web-2"), 503, Rollback::kPending},
      {"the Cluster was deleted", cluster("web-1", "web-2"), 404, Rollback::kNothingToDo},
  };
  for (const Row& row : rows) {
    World world(kCnpg, "primary", EvacuationPhase::kAborting);
    world.of.status.refs = {{"targetPrimary", "web-2"}};
    world.cluster["status"] = row.status;
    world.cluster_status = row.code;
    EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty()) << row.what;
    EXPECT_TRUE(StatefulHandoff().cleanup(world.look()).empty()) << row.what;
    EXPECT_EQ(StatefulHandoff().undone(world.look()), row.rollback) << row.what;
  }
}

TEST(CloudNativePg, RemembersItsTargetEvenWhenTheAnswerWasLost) {
  World world(kCnpg, "primary", EvacuationPhase::kAborting);
  world.of.status.intent =
      api::EvacuationIntent{"RequestSwitchover", kToken, kNoon, false, "", "currentPrimary=web-1,targetPrimary=web-2"};
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending) << "it may still arrive";
  world.cluster["status"]["targetPrimary"] = "web-2";
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kRemoteMarkRemains);
}

TEST(Patroni, GoesThroughThePodProxyOrAConfiguredService) {
  World world(kPatroni, "master");
  auto plan = StatefulHandoff().plan(world.look());
  EXPECT_EQ(plan.action->request.path, "/api/v1/namespaces/shop/pods/http:web-1:8008/proxy/switchover");
  EXPECT_EQ(plan.action->request.method, "POST");
  EXPECT_EQ(Json::parse(plan.action->request.body), (Json{{"leader", "web-1"}, {"candidate", "web-2"}}));
  auto context = world.look();
  context.parameters.emplace_back("service", "patroni");
  plan = StatefulHandoff().plan(context);
  EXPECT_EQ(plan.action->service, "patroni");
  EXPECT_EQ(plan.action->service_use, "patroni");
  EXPECT_EQ(Json::parse(plan.action->request.body)["namespace"], "shop");
  EXPECT_EQ(plan.action->request.path, "/switchover");
}

// --- Patroni's keys

/// Patroni's keys for a cluster with the given leader.
std::vector<Document> keys(const std::string& leader, const Json& config = {{"loop_wait", 10}}) {
  return {key("leader-endpoints", {{"leader", leader}, {"ttl", "30"}}), key("config", {{"config", config.dump()}}),
          no_key("sync"), no_key("failover")};
}

void describe(Json& pod, const Json& more) {
  Json status = {{"api_url", "http://10.0.0.7:8008/patroni"}, {"state", "running"}, {"role", "replica"}};
  status.update(more);
  pod["metadata"]["annotations"]["status"] = status.dump();
}

TEST(Patroni, IsDoneOnceTheLeaderKeyNamesTheOtherMember) {
  struct Row {
    const char* what;
    std::vector<Document> documents;
    bool ready;
  };
  const std::vector<Row> rows = {
      {"Endpoints name it", keys("web-2"), true},
      {"Endpoints still name the pod", keys("web-1"), false},
      {"Endpoints name a third one", keys("web-3"), false},
      {"nobody holds the key", {key("leader-endpoints", {{"ttl", "30"}})}, false},
      {"ConfigMap names it",
       {key("leader-endpoints", Json::object()), key("leader-configmap", {{"leader", "web-2"}})},
       true},
      {"ConfigMap names another", {no_key("leader-endpoints"), key("leader-configmap", {{"leader", "web-3"}})}, false},
      {"the keys are in etcd", {no_key("leader-endpoints"), no_key("leader-configmap")}, true},
      {"not read", {{"patroni/leader-endpoints", 0, "timeout"}}, false},
      {"not read", {{"patroni/leader-endpoints", 503, "busy"}}, false},
      {"ConfigMap not read", {no_key("leader-endpoints"), {"patroni/leader-configmap", 0, "timeout"}}, false},
  };
  for (const Row& row : rows) {
    World world(kPatroni, "replica", EvacuationPhase::kInProgress);
    world.more = row.documents;
    EXPECT_EQ(StatefulHandoff().observe(world.look()).ready, row.ready) << row.what;
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, row.ready ? NextMove::kAct : NextMove::kWait) << row.what;
  }
}

TEST(Patroni, DetectsWhereItsKeysAreStored) {
  const auto paths = [](std::vector<Document> documents) {
    World world(kPatroni, "master");
    world.more = std::move(documents);
    std::set<std::string> all;
    for (const auto& read : StatefulHandoff().reads(world.look())) {
      if (read.name.starts_with("patroni/")) all.insert(read.request.path.substr(23));
    }
    return all;
  };
  using Paths = std::set<std::string>;
  EXPECT_EQ(paths({}), (Paths{"/endpoints/pg"}));
  EXPECT_EQ(paths({no_key("leader-endpoints")}), (Paths{"/endpoints/pg", "/configmaps/pg-leader"}));
  EXPECT_EQ(paths({key("leader-endpoints", {{"leader", "web-1"}})}),
            (Paths{"/endpoints/pg", "/endpoints/pg-config", "/endpoints/pg-sync", "/endpoints/pg-failover"}));
  EXPECT_EQ(paths({no_key("leader-endpoints"), key("leader-configmap", {{"leader", "web-1"}})}),
            (Paths{"/endpoints/pg", "/configmaps/pg-leader", "/configmaps/pg-config", "/configmaps/pg-sync",
                   "/configmaps/pg-failover"}));
}

TEST(Patroni, NamesTheRoleWhenItsKeysAreForbidden) {
  World world(kPatroni, "master");
  world.more = {{"patroni/leader-endpoints", 403, "no"}};
  EXPECT_EQ(world.failure(), "Forbidden");
}

TEST(Patroni, RanksCandidatesLikePatroni) {
  struct Row {
    const char* what;
    Json web_2;
    Json web_3;
    std::vector<Document> documents;
    const char* chosen;
  };
  const auto with_sync = [](const char* standbys, bool on = true) {
    auto all = keys("web-1", {{"synchronous_mode", on}});
    all[2] = key("sync", {{"leader", "web-1"}, {"sync_standby", standbys}});
    return all;
  };
  const Json none = Json::object();
  const std::vector<Row> rows = {
      {"the first by name", none, none, keys("web-1"), "web-2"},
      {"least lag", {{"xlog_location", 100}}, {{"xlog_location", 200}}, keys("web-1"), "web-3"},
      {"positions of Patroni 4", {{"receive_lsn", 100}}, {{"receive_lsn", 200}}, keys("web-1"), "web-3"},
      {"nofailover", {{"tags", {{"nofailover", true}}}}, none, keys("web-1"), "web-3"},
      {"failover_priority 0", {{"tags", {{"failover_priority", 0}}}}, none, keys("web-1"), "web-3"},
      {"not running", {{"state", "starting"}}, none, keys("web-1"), "web-3"},
      {"synchronous standby", {{"xlog_location", 900}}, {{"xlog_location", 200}}, with_sync("web-3"), "web-3"},
      {"one of the synchronous standbys", none, none, with_sync("web-7,web-3"), "web-3"},
      {"not a synchronous standby", none, none, with_sync(""), ""},
      {"synchronous mode is off", none, none, with_sync("web-3", false), "web-2"},
      {"nobody may lead", {{"tags", {{"nofailover", true}}}}, {{"state", "stopped"}}, keys("web-1"), ""},
  };
  for (const Row& row : rows) {
    World world(kPatroni, "master");
    describe(world.items[2], row.web_2);
    describe(world.items[1], row.web_3);
    world.more = row.documents;
    EXPECT_EQ(chosen(world), row.chosen) << row.what;
    EXPECT_EQ(world.failure(), *row.chosen ? "" : "NoHealthyReplica") << row.what;
  }
}

TEST(Patroni, AsksTheNextCandidateAfterARefusal) {
  World world(kPatroni, "master");
  world.more = keys("web-1");
  std::vector<std::string> asked;
  for (const int code : {412, 503, 412, 412}) {
    const auto plan = StatefulHandoff().plan(world.look());
    ASSERT_TRUE(plan.action);
    asked.push_back(Json::parse(plan.action->request.body)["candidate"]);
    const auto meaning = StatefulHandoff().classify(
        world.look(), *plan.action, kube::Response{code, "candidate name does not match with sync_standby", {}, ""});
    EXPECT_EQ(meaning.answer, ResponseClass::kRetryLater);
    world.of.status.refs = meaning.refs;
  }
  EXPECT_EQ(asked, (std::vector<std::string>{"web-2", "web-3", "web-2", "web-3"}));
}

TEST(Patroni, DoesNotBlameACandidateForALeaderThatMoved) {
  World world(kPatroni, "master");
  const auto plan = StatefulHandoff().plan(world.look());
  const auto meaning =
      StatefulHandoff().classify(world.look(), *plan.action, kube::Response{412, "leader name does not match", {}, ""});
  EXPECT_TRUE(meaning.refs.empty());
}

TEST(Patroni, WaitsDuringASwitchover) {
  World world(kPatroni, "master");
  world.more = keys("web-1");
  world.more[3] = key("failover", {{"leader", "web-1"}, {"member", "web-2"}});
  EXPECT_TRUE(StatefulHandoff().observe(world.look()).requested) << "503 may mean: still under way";
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
  world.more[3] = key("failover", {{"leader", "web-9"}, {"member", "web-2"}});
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kAct) << "a former leader's";
  world.more[3] = key("failover", {{"leader", "web-1"}, {"scheduled_at", "2026-11-22T00:00:00Z"}});
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kAct) << "one for tomorrow";
  world.more[3] = {"patroni/failover", 503, "busy"};
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << "not known";
}

TEST(Patroni, WaitsWhileTheKeyNamesAnotherLeaderThanTheLabel) {
  World world(kPatroni, "master");
  for (const char* leader : {"web-2", ""}) {
    world.more = keys(leader);
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << leader;
  }
}

TEST(Patroni, RequestsAgainAfterAnAcceptedSwitchoverFailed) {
  World world(kPatroni, "master", EvacuationPhase::kInProgress);
  world.of.status.refs = {{"switchover", "asked"}};
  world.of.status.intent =
      api::EvacuationIntent{"RequestSwitchover", kToken, kNoon - base::seconds(33), true, "Applied", "candidate=web-2"};
  world.more = keys("web-1");
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << "the labels may lag";
  world.of.status.intent->time = kNoon - base::seconds(34);
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kAct) << "the pod leads again";
  world.more = keys("web-2");
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << "the label lags";
}

TEST(Patroni, ReportsWhatACancelLeavesBehind) {
  struct Row {
    const char* what;
    std::vector<Document> documents;
    bool resolved;
    Rollback rollback;
    const char* says;
  };
  auto standing = keys("web-1");
  standing[3] = key("failover", {{"leader", "web-1"}, {"member", "web-2"}});
  const std::vector<Row> rows = {
      {"its key stands", standing, true, Rollback::kRemoteMarkRemains,
       "the switchover to web-2; web-1 is the leader now"},
      {"given up", keys("web-1"), true, Rollback::kNothingToDo, "web-1 is the leader now"},
      {"through", keys("web-2"), true, Rollback::kNothingToDo, "web-2 is the leader now"},
      {"nobody leads", keys(""), true, Rollback::kNothingToDo, "no member is the leader now"},
      {"may still arrive", keys("web-1"), false, Rollback::kPending, ""},
      {"not known is not done", {{"patroni/leader-endpoints", 503, "busy"}}, true, Rollback::kPending, ""},
  };
  for (const Row& row : rows) {
    World world(kPatroni, "master", EvacuationPhase::kAborting);
    world.of.status.intent =
        api::EvacuationIntent{"RequestSwitchover", kToken, kNoon, row.resolved, "", "candidate=web-2"};
    world.more = row.documents;
    EXPECT_EQ(StatefulHandoff().undone(world.look()), row.rollback) << row.what;
    const std::string says = StatefulHandoff().remains(world.look());
    EXPECT_NE(says.find(row.says), std::string::npos) << row.what << ": " << says;
    EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty()) << row.what;
  }
  World untouched(kPatroni, "master", EvacuationPhase::kAborting);
  untouched.more = standing;
  EXPECT_EQ(StatefulHandoff().undone(untouched.look()), Rollback::kNothingToDo) << "somebody else's";
  EXPECT_EQ(StatefulHandoff().remains(untouched.look()), "");
}

TEST(Patroni, IsCalledAtItsRestApiPort) {
  struct Row {
    const char* url;
    const char* member;
  };
  const std::vector<Row> rows = {
      {"https://10.0.0.7:8008/patroni", "https:web-1:8008"},  {"http://10.0.0.7:9009/patroni", "http:web-1:9009"},
      {"https://[fd00::7]:8008/patroni", "https:web-1:8008"}, {"https://10.0.0.7/patroni", "https:web-1:8008"},
      {"https://10.0.0.7:0/x", "https:web-1:8008"},           {"https://10.0.0.7:99999/x", "https:web-1:8008"},
      {"ftp://10.0.0.7:8008/x", "http:web-1:8008"},           {"nonsense", "http:web-1:8008"},
  };
  for (const Row& row : rows) {
    World world(kPatroni, "master");
    const Json status = {{"api_url", row.url}, {"state", "running"}, {"role", "master"}};
    world.target.meta.annotations = api::StringMap(Strings{{"status", status.dump()}});
    EXPECT_EQ(StatefulHandoff().plan(world.look()).action->request.path,
              std::string("/api/v1/namespaces/shop/pods/") + row.member + "/proxy/switchover")
        << row.url;
  }
}

TEST(Patroni, IsAwaitedForItsConfiguredTime) {
  struct Row {
    Json config;
    int seconds;
    int on_its_way;
  };
  const std::vector<Row> rows = {
      {{{"loop_wait", 10}}, 30, 34}, {{{"loop_wait", 5}}, 30, 34},   {{{"loop_wait", 30}}, 70, 70},
      {Json::object(), 30, 34},      {{{"loop_wait", "x"}}, 30, 34}, {{{"loop_wait", 1000000}}, 120, 120},
      {{{"loop_wait", -7}}, 30, 34},
  };
  for (const Row& row : rows) {
    World world(kPatroni, "master");
    world.more = keys("web-1", row.config);
    EXPECT_EQ(StatefulHandoff().plan(world.look()).action->request.timeout, base::seconds(row.seconds)) << row.config;
    EXPECT_EQ(StatefulHandoff().call_timeout(world.look()), base::seconds(row.on_its_way)) << row.config;
    world.of.status.refs = StatefulHandoff().observe(world.look()).refs;
    world.more.clear();
    EXPECT_EQ(StatefulHandoff().call_timeout(world.look()), base::seconds(row.on_its_way))
        << "known to the next leader, too: " << row.config;
  }
}

TEST(Patroni, IsDetectedByOtherLabelsAndByItsPodAnnotations) {
  World world(kPatroni, "master");
  const Json status = {{"api_url", "http://10.0.0.7:8008/patroni"}, {"state", "running"}, {"role", "primary"}};
  world.of.status.evictor.clear();
  world.of.status.adapter.clear();
  world.target.meta.labels = api::StringMap(Strings{{"pg", "db"}, {"pg-role", "leader"}});
  world.target.meta.annotations = api::StringMap(Strings{{"status", status.dump()}});
  world.opted_in = false;
  EXPECT_TRUE(StatefulHandoff().owner_decides(world.look())) << "by the annotation alone";
  const auto with_parameters = [&](Strings parameters) {
    auto context = world.look();
    context.parameters = std::move(parameters);
    return context;
  };
  const auto failed =
      StatefulHandoff().observe(with_parameters({{"switchover", "true"}, {"adapter", "patroni"}})).failed;
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, "ClusterUnknown");
  EXPECT_NE(failed->message.find("clusterLabel"), std::string::npos);
  for (Json& item : world.items) {
    const std::string role = item["metadata"]["labels"]["spilo-role"];
    item["metadata"]["labels"] = {{"pg", "db"}, {"pg-role", role}};
  }
  const auto plan = StatefulHandoff().plan(with_parameters(
      {{"switchover", "true"}, {"adapter", "patroni"}, {"clusterLabel", "pg"}, {"roleLabel", "pg-role"}}));
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(Json::parse(plan.action->request.body)["candidate"], "web-2");
}

/// Zalando's operator has a configurable key for the role label (pod_role_label).
TEST(Patroni, UsesTheRoleOfItsAnnotationIfTheLabelHasAnotherKey) {
  struct Row {
    const char* what;
    Json status;
    NextMove next;
    bool ready;
  };
  const Json url = {{"api_url", "http://10.0.0.7:8008/patroni"}};
  const std::vector<Row> rows = {
      {"a replica", {{"state", "running"}, {"role", "replica"}}, NextMove::kAct, true},
      {"the primary", {{"state", "running"}, {"role", "master"}}, NextMove::kAct, false},
      {"not running", {{"state", "stopping"}, {"role", "replica"}}, NextMove::kWait, false},
      {"no annotation", Json::object(), NextMove::kWait, false},
  };
  for (const Row& row : rows) {
    World world(kPatroni, "replica");
    const bool leads = row.status.value("role", "") == "master";
    for (Json& item : world.items) {
      Json& labels = item["metadata"]["labels"];
      labels.erase("spilo-role");
      const bool is_leader = item["metadata"]["name"] == (leads ? "web-1" : "web-2");
      describe(item, {{"role", is_leader ? "master" : "replica"}});
    }
    world.target.meta.labels = api::StringMap(Strings{{"application", "spilo"}, {"cluster-name", "pg"}});
    Json status = url;
    status.update(row.status);
    world.target.meta.annotations = api::StringMap(Strings{{"status", status.dump()}});
    const auto plan = StatefulHandoff().plan(world.look());
    EXPECT_EQ(plan.next, row.next) << row.what;
    EXPECT_EQ(StatefulHandoff().observe(world.look()).ready, row.ready) << row.what;
    if (row.next == NextMove::kWait) {
      EXPECT_NE(plan.why.find("parameter roleLabel"), std::string::npos) << plan.why;
    }
  }
}

TEST(Patroni, TreatsAMissingRoleLabelAsAnUnknownRole) {
  for (const bool opted_in : {true, false}) {
    World world(kPatroni, "replica");
    world.opted_in = opted_in;
    const auto shows = [&](const char* role) {
      world.target.meta.labels = api::StringMap(Strings{{"application", "spilo"}, {"cluster-name", "pg"}});
      const Json status = {{"api_url", "http://10.0.0.7:8008/patroni"}, {"state", "running"}, {"role", role}};
      world.target.meta.annotations = api::StringMap(Strings{{"status", status.dump()}});
      return StatefulHandoff().plan(world.look());
    };
    EXPECT_EQ(shows("replica").next, NextMove::kAct) << "that is no reason to keep it";
    EXPECT_NE(shows("master").why.find("no role"), std::string::npos);
    EXPECT_EQ(world.failure(), "") << "it is waited for";
    world.instances_status = 0;
    EXPECT_NE(shows("master").why.find("no role"), std::string::npos) << "the others are not known";
    EXPECT_EQ(world.failure(), "");
  }
}

TEST(Patroni, OfCitusConsidersOnlyItsOwnGroup) {
  World world(kPatroni, "replica", EvacuationPhase::kInProgress);
  const auto in_group = [&](int at, const char* group) {
    world.items[at]["metadata"]["labels"]["citus-group"] = group;
  };
  auto labels = Strings{{"cluster-name", "pg"}, {"spilo-role", "replica"}, {"citus-group", "1"}};
  world.target.meta.labels = api::StringMap(labels);
  in_group(0, "1");
  in_group(1, "1");
  in_group(2, "0");
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready) << "web-2 leads another group";
  in_group(2, "1");
  EXPECT_TRUE(StatefulHandoff().observe(world.look()).ready);
  world.more = keys("web-2");
  std::set<std::string> paths;
  for (const auto& read : StatefulHandoff().reads(world.look())) paths.insert(read.request.path);
  EXPECT_TRUE(paths.contains("/api/v1/namespaces/shop/endpoints/pg-1")) << testing::PrintToString(paths);
  EXPECT_TRUE(paths.contains("/api/v1/namespaces/shop/endpoints/pg-1-failover"));
  labels.back().second = "../x";
  world.target.meta.labels = api::StringMap(labels);
  for (const auto& read : StatefulHandoff().reads(world.look()))
    EXPECT_EQ(read.request.path.find(".."), std::string::npos) << read.request.path;
}

TEST(Patroni, OfAStandbyClusterHasNoSynchronousStandbys) {
  for (const auto& [standby, want] : {std::pair<Json, const char*>{{{"host", "10.0.0.9"}}, "web-2"},
                                      {{{"restore_command", "x"}}, "web-2"},
                                      {Json::object(), ""},
                                      {nullptr, ""}}) {
    World world(kPatroni, "standby_leader");
    world.more = keys("web-1", {{"synchronous_mode", true}, {"standby_cluster", standby}});
    EXPECT_EQ(chosen(world), want) << standby;
  }
}

/// For both operators, the replica would be evicted when it is already the primary.
TEST(Patroni, KeepsAReplicaThatASwitchoverMayPromote) {
  for (const Flavour* flavour : {&kPatroni, &kPgo}) {
    struct Row {
      const char* what;
      Document failover;
      bool ready;
    };
    const std::vector<Row> rows = {
        {"to this pod", key("failover", {{"leader", "web-2"}, {"member", "web-1"}}), false},
        {"to any member", key("failover", {{"leader", "web-2"}}), false},
        {"by hand, to this pod", key("failover", {{"member", "web-1"}}), false},
        {"to another", key("failover", {{"leader", "web-2"}, {"member", "web-3"}}), true},
        {"away from a former leader", key("failover", {{"leader", "web-9"}, {"member", "web-1"}}), true},
        {"for tomorrow",
         key("failover", {{"leader", "web-2"}, {"member", "web-1"}, {"scheduled_at", "2026-11-22T00:00:00Z"}}), true},
        {"none", no_key("failover"), true},
        {"not known", {"patroni/failover", 503, "busy"}, false},
    };
    for (const Row& row : rows) {
      World world(*flavour, "replica", EvacuationPhase::kInProgress);
      world.more = keys("web-2");
      world.more[3] = row.failover;
      const auto plan = StatefulHandoff().plan(world.look());
      EXPECT_EQ(plan.next, row.ready ? NextMove::kAct : NextMove::kWait) << flavour->adapter << " " << row.what;
      EXPECT_EQ(StatefulHandoff().observe(world.look()).ready, row.ready) << flavour->adapter << " " << row.what;
      if (!row.ready) {
        EXPECT_NE(plan.why.find(row.failover.status == 503 ? "patroni/failover" : "switchover"), std::string::npos)
            << plan.why;
      }
    }
    World asks(*flavour, "replica", EvacuationPhase::kInProgress);
    asks.more = {key("leader-endpoints", {{"leader", "web-2"}})};
    const auto reads = StatefulHandoff().reads(asks.look());
    EXPECT_TRUE(std::ranges::any_of(reads, [](const auto& each) { return each.name == "patroni/failover"; }))
        << flavour->adapter;
  }
}

TEST_P(Switchover, EvictsThePodAtTheCheckedResourceVersion) {
  World world(GetParam(), "replica");
  const auto plan = StatefulHandoff().plan(world.look());
  ASSERT_TRUE(plan.action);
  const Json body = Json::parse(plan.action->request.body);
  EXPECT_EQ(body["deleteOptions"]["preconditions"]["resourceVersion"], "41");
  const auto conflict = kube::Response{
      409,
      R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has changed"})",
      {},
      ""};
  EXPECT_EQ(StatefulHandoff().classify(world.look(), *plan.action, conflict).answer, ResponseClass::kConflict)
      << "looks again";
}

TEST(Patroni, IsNotCalledAgainAfterItRejectsCredentials) {
  for (const auto& [code, body] :
       {std::pair(401, "no auth header received"), {401, "not authenticated"}, {403, "Access is denied"}}) {
    World world(kPatroni, "master");
    const auto plan = StatefulHandoff().plan(world.look());
    const auto meaning = StatefulHandoff().classify(world.look(), *plan.action, kube::Response{code, body, {}, ""});
    EXPECT_EQ(meaning.answer, ResponseClass::kPermanent) << body;
    EXPECT_NE(meaning.message.find("by parameter service"), std::string::npos) << meaning.message;
  }
}

TEST(Patroni, BehindAServiceReportsTheServicesCredentials) {
  for (const char* body : {"", "Unauthorized", R"({"kind":"Error"})"}) {
    World world(kPatroni, "master");
    auto context = world.look();
    context.parameters.emplace_back("service", "patroni");
    const auto plan = StatefulHandoff().plan(context);
    const auto meaning = StatefulHandoff().classify(context, *plan.action, kube::Response{401, body, {}, ""});
    EXPECT_EQ(meaning.answer, ResponseClass::kPermanent) << body;
    EXPECT_NE(meaning.message.find("credentials of service patroni"), std::string::npos) << meaning.message;
  }
}

TEST(Patroni, ReadsItsAnswers) {
  struct Row {
    int code;
    const char* body;
    ResponseClass answer;
  };
  const std::vector<Row> rows = {
      {200, "Successfully switched over to \\\"web-2\\\"", ResponseClass::kApplied},
      {202, "Switchover scheduled", ResponseClass::kApplied},
      {412, "leader name does not match", ResponseClass::kRetryLater},
      {503, "Switchover failed", ResponseClass::kRetryLater},
      {400, "Switchover could be performed only from a specific leader", ResponseClass::kPermanent},
      {403, "<html>a proxy's page</html>", ResponseClass::kUnknown},
      {408, "", ResponseClass::kUnknown},
      {500, "oops", ResponseClass::kUnknown},
      {302, "", ResponseClass::kUnknown},
      {403, R"({"kind":"Status","message":"pods \"web-1\" is forbidden: cannot create resource \"pods/proxy\""})",
       ResponseClass::kForbidden},
      {401, "Unauthorized", ResponseClass::kAuth},
      {401, "", ResponseClass::kAuth},
      {429, "slow down", ResponseClass::kRetryLater},
  };
  for (const Row& row : rows) {
    World world(kPatroni, "master");
    evictors::Action action;
    action.name = "RequestSwitchover";
    const auto verdict = StatefulHandoff().classify(world.look(), action, kube::Response{row.code, row.body, {}, ""});
    EXPECT_EQ(verdict.answer, row.answer) << row.code << " " << row.body;
    EXPECT_EQ(verdict.refs.empty(), row.answer != ResponseClass::kApplied);
  }
}

TEST(Patroni, IsNotRequestedTwiceInOneAttempt) {
  World world(kPatroni, "master", EvacuationPhase::kInProgress);
  world.of.status.refs = {{"switchover", "asked"}};
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
}

TEST(Pgo, TriggersWithItsTokenAndWaitsForTheOperatorsStatus) {
  World world(kPgo, "master");
  const char* trigger = "postgres-operator.crunchydata.com/trigger-switchover";
  const auto plan = StatefulHandoff().plan(world.look());
  const Json body = Json::parse(plan.action->request.body);
  EXPECT_EQ(body["metadata"]["annotations"], (Json{{trigger, kToken}}));
  EXPECT_EQ(body["metadata"]["resourceVersion"], "77");
  EXPECT_FALSE(body.contains("spec")) << "the user's own spec is not touched";
  World after(kPgo, "replica", EvacuationPhase::kInProgress);
  after.cluster["metadata"]["annotations"][trigger] = kToken;
  EXPECT_FALSE(StatefulHandoff().observe(after.look()).ready);
  after.cluster["status"]["patroni"]["switchover"] = kToken;
  EXPECT_TRUE(StatefulHandoff().observe(after.look()).ready);
}

TEST(Pgo, PrefersTheLeaderKeyOfPatroniOverAStaleLabel) {
  World world(kPgo, "replica", EvacuationPhase::kInProgress);
  world.more = keys("web-3");
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready) << "web-2 is frozen, with the label of a leader";
  world.more = {key("leader-endpoints", {{"ttl", "30"}})};
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready) << "no member is the leader";
  world.more = keys("web-2");
  EXPECT_TRUE(StatefulHandoff().observe(world.look()).ready);
  const auto reads = StatefulHandoff().reads(world.look());
  EXPECT_TRUE(std::ranges::any_of(
      reads, [](const auto& each) { return each.request.path == "/api/v1/namespaces/shop/endpoints/pg-ha"; }));
}

TEST(Pgo, IsNotTriggeredBeforeItsLeaderKeyNamesThePod) {
  struct Row {
    const char* what;
    std::vector<Document> documents;
    const char* waits_for;
  };
  const Document lost{"patroni/failover", 0, "forbidden"};
  const std::vector<Row> rows = {
      {"a 403 that may pass",
       {{"patroni/leader-endpoints", 0, "forbidden"}},
       "patroni/leader-endpoints cannot be read"},
      {"no key", {no_key("leader-endpoints")}, ""},
      {"no key, no ConfigMap", {no_key("leader-endpoints"), no_key("leader-configmap")}, ""},
      {"a ConfigMap", {no_key("leader-endpoints"), key("leader-configmap", {{"leader", "web-1"}})}, ""},
      {"the label lags behind", {key("leader-endpoints", {{"leader", "web-2"}})}, ""},
      {"no member is the leader", {key("leader-endpoints", {{"ttl", "30"}})}, ""},
      {"the failover key is unread", {key("leader-endpoints", {{"leader", "web-1"}}), lost}, "patroni/failover cannot"},
  };
  for (const Row& row : rows) {
    World world(kPgo, "master");
    world.more = row.documents;
    const auto plan = StatefulHandoff().plan(world.look());
    EXPECT_EQ(plan.next, NextMove::kWait) << row.what;
    EXPECT_NE(plan.why.find(row.waits_for), std::string::npos) << row.what << ": " << plan.why;
    EXPECT_EQ(world.failure(), "") << row.what;
  }
  World world(kPgo, "master");
  world.more = {key("leader-endpoints", {{"leader", "web-1"}}), no_key("failover")};
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kAct);
}

TEST(Pgo, EvictsNoReplicaWithoutALeaderKeyAndReadsNoConfigMap) {
  for (const auto& documents : {std::vector<Document>{no_key("leader-endpoints")},
                                {no_key("leader-endpoints"), no_key("leader-configmap")},
                                {key("leader-endpoints", Json::object())}}) {
    World world(kPgo, "replica", EvacuationPhase::kInProgress);
    world.more = documents;
    EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready);
    for (const auto& read : StatefulHandoff().reads(world.look()))
      EXPECT_EQ(read.request.path.find("configmaps"), std::string::npos) << read.request.path;
  }
}

TEST(Pgo, ReportsTheSettingThatIsOff) {
  for (const Json& spec :
       {Json(nullptr), Json("x"), Json::object(), Json{{"patroni", {{"switchover", {{"enabled", "true"}}}}}},
        Json{{"patroni", Json::array()}}}) {
    World world(kPgo, "master");
    world.cluster["spec"] = spec;
    EXPECT_EQ(world.failure(), "SwitchoverNotEnabled") << spec.dump();
  }
}

TEST(Pgo, RefusesSettingsThatWouldForceAFailover) {
  for (const Json& type : {Json("Failover"), Json("failover"), Json("Other"), Json(7)}) {
    World world(kPgo, "master");
    world.cluster["spec"]["patroni"]["switchover"]["type"] = type;
    world.cluster["spec"]["patroni"]["switchover"]["targetInstance"] = "instance-of-web-2";
    EXPECT_EQ(world.failure(), "SwitchoverTypeNotSafe") << type.dump();
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << type.dump();
    const auto failed = StatefulHandoff().observe(world.look()).failed;
    ASSERT_TRUE(failed);
    EXPECT_FALSE(failed->retryable) << "only somebody's hand can change it";
    EXPECT_NE(failed->message.find("spec.patroni.switchover.type"), std::string::npos) << failed->message;
  }
  World world(kPgo, "master");
  world.cluster["spec"]["patroni"]["switchover"]["type"] = "Switchover";
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kAct);
}

TEST(Pgo, RefusesATargetInstanceThatIsNoReadyReplicaElsewhere) {
  struct Row {
    const char* what;
    Json target;
    bool fit;
  };
  const std::vector<Row> rows = {
      {"not set", nullptr, true},
      {"empty", "", true},
      {"a Ready replica on another node", "instance-of-web-2", true},
      {"another one", "instance-of-web-3", true},
      {"the primary itself", "instance-of-web-1", false},
      {"unready", "instance-of-web-4", false},
      {"on the same node", "instance-of-web-5", false},
      {"nobody", "gone", false},
      {"a pod's name", "web-2", false},
      {"nonsense", Json::array({"instance-of-web-2"}), false},
  };
  for (const Row& row : rows) {
    World world(kPgo, "master");
    world.cluster["spec"]["patroni"]["switchover"]["targetInstance"] = row.target;
    world.items.push_back(instance("web-4", "node-d", "replica", kPgo, false));
    world.items.push_back(instance("web-5", "node-a", "replica", kPgo));
    EXPECT_EQ(world.failure(), row.fit ? "" : "TargetInstanceNotFit") << row.what;
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, row.fit ? NextMove::kAct : NextMove::kWait) << row.what;
  }
}

const char* const kTrigger = "postgres-operator.crunchydata.com/trigger-switchover";

/// PGO retries an unfinished trigger forever and reconciles nothing else while it fails.
TEST(Pgo, RemovesItsTriggerInEveryOutcome) {
  World world(kPgo, "master", EvacuationPhase::kAborting);
  world.of.status.refs = {{"trigger", "set"}};
  world.cluster["metadata"]["annotations"][kTrigger] = kToken;
  for (const auto& actions : {StatefulHandoff().undo(world.look()), StatefulHandoff().cleanup(world.look())}) {
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].name, "RemoveTrigger");
    EXPECT_EQ(Json::parse(actions[0].request.body),
              (Json{{"metadata",
                     {{"uid", "cluster-uid"}, {"resourceVersion", "77"}, {"annotations", {{kTrigger, nullptr}}}}}}));
  }
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending);
  world.cluster["metadata"].erase("annotations");
  EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty());
  EXPECT_TRUE(StatefulHandoff().cleanup(world.look()).empty());
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kComplete);
  world.cluster["status"]["patroni"]["switchover"] = kToken;
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kNothingToDo) << "PGO was through with it";
}

TEST(Pgo, IgnoresATriggerOfAnotherClient) {
  for (const char* value : {"2026-11-21", "other.1", "e5b3", "e5b30.1", ""}) {
    World world(kPgo, "master", EvacuationPhase::kAborting);
    world.cluster["metadata"]["annotations"][kTrigger] = value;
    EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty()) << value;
    EXPECT_TRUE(StatefulHandoff().cleanup(world.look()).empty()) << value;
    EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kNothingToDo) << value;
    World moved(kPgo, "replica", EvacuationPhase::kInProgress);
    moved.cluster["metadata"]["annotations"][kTrigger] = value;
    const auto plan = StatefulHandoff().plan(moved.look());
    ASSERT_TRUE(plan.action) << value;
    EXPECT_EQ(plan.action->name, "PostEviction") << value;
  }
}

TEST(Pgo, RemovesItsTriggerBeforeTheEviction) {
  World world(kPgo, "replica", EvacuationPhase::kRequesting);
  world.cluster["metadata"]["annotations"][kTrigger] = kToken;
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << "PGO is not through with it";
  world.cluster["status"]["patroni"]["switchover"] = kToken;
  ASSERT_TRUE(StatefulHandoff().plan(world.look()).action);
  EXPECT_EQ(StatefulHandoff().plan(world.look()).action->name, "RemoveTrigger");
  world.cluster["metadata"].erase("annotations");
  ASSERT_TRUE(StatefulHandoff().plan(world.look()).action);
  EXPECT_EQ(StatefulHandoff().plan(world.look()).action->name, "PostEviction");
}

TEST(Pgo, TreatsAnUnreadableTriggerAsPending) {
  World world(kPgo, "master", EvacuationPhase::kAborting);
  world.of.status.intent = api::EvacuationIntent{"RequestSwitchover", kToken, kNoon, false, "", "trigger="};
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending) << "it may still arrive";
  world.of.status.intent->resolved = true;
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kComplete);
  world.cluster_status = 503;
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending) << "not known is not done";
  world.cluster_status = 404;
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending) << "it may be one of Percona's";
  world.more = {{"percona-postgrescluster", 404, "{}"}};
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kNothingToDo) << "the cluster was deleted";
}

TEST(Pgo, WaitsForATriggerOfAnotherClient) {
  World world(kPgo, "master");
  world.cluster["metadata"]["annotations"][kTrigger] = "by an admin";
  const auto failed = StatefulHandoff().observe(world.look()).failed;
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, "TriggerPending");
  EXPECT_TRUE(failed->retryable) << "it passes";
  EXPECT_NE(failed->message.find("PostgresCluster pg carries the trigger-switchover \"by an admin\""),
            std::string::npos)
      << failed->message;
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
  world.cluster["status"]["patroni"]["switchover"] = "by an admin";
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kAct) << "PGO is through with it";
}

TEST(Pgo, RecordsItsClusterForTheTimeAfterThePod) {
  World world(kPgo, "master");
  EXPECT_EQ(StatefulHandoff().observe(world.look()).refs,
            (evictors::Refs{{"triggered", "postgresclusters.postgres-operator.crunchydata.com/pg"}}));
  world.of.status.refs = {{"triggered", "postgresclusters.postgres-operator.crunchydata.com/pg"}, {"trigger", "set"}};
  EXPECT_TRUE(StatefulHandoff().observe(world.look()).refs.empty()) << "known";
  world.of.status.phase = EvacuationPhase::kVerifying;
  auto context = world.look();
  context.pod = nullptr;
  const auto reads = StatefulHandoff().reads(context);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].request.path,
            "/apis/postgres-operator.crunchydata.com/v1beta1/namespaces/shop/postgresclusters/pg");
  EXPECT_TRUE(StatefulHandoff().verify(context).unfinished) << "not read yet";
  world.cluster["metadata"]["annotations"][kTrigger] = kToken;
  const std::vector<Document> seen = {{reads[0].name, 200, world.cluster.dump()}};
  context.documents = seen;
  const auto verification = StatefulHandoff().verify(context);
  EXPECT_TRUE(verification.unfinished);
  ASSERT_TRUE(verification.action);
  EXPECT_EQ(verification.action->name, "RemoveTrigger");
  EXPECT_EQ(verification.action->request.path, reads[0].request.path);
  for (const char* value : {"by an admin", ""}) {
    world.cluster["metadata"]["annotations"][kTrigger] = value;
    const std::vector<Document> other = {{reads[0].name, 200, world.cluster.dump()}};
    context.documents = other;
    EXPECT_FALSE(StatefulHandoff().verify(context).unfinished) << value;
  }
}

TEST(Pgo, LooksForAnUnansweredTriggerUntilItCannotArriveAnyMore) {
  World world(kPgo, "master", EvacuationPhase::kVerifying);
  world.of.status.refs = {{"triggered", "postgresclusters.postgres-operator.crunchydata.com/pg"}};
  world.of.status.intent = api::EvacuationIntent{"RequestSwitchover", kToken, kNoon, true, "Observed", "trigger="};
  auto context = world.look();
  context.pod = nullptr;
  const std::vector<Document> seen = {{"triggered-cluster", 200, world.cluster.dump()}};
  context.documents = seen;
  EXPECT_TRUE(StatefulHandoff().verify(context).unfinished);
  context.now = kNoon + base::seconds(34);
  EXPECT_FALSE(StatefulHandoff().verify(context).unfinished);
}

TEST(Pgo, RejectsReferencesThatItDidNotWrite) {
  for (const char* ref : {"", "pg", "secrets./pg", "postgresclusters.postgres-operator.crunchydata.com/../x", "/"}) {
    World world(kPgo, "master", EvacuationPhase::kVerifying);
    world.of.status.refs = {{"triggered", ref}, {"trigger", "set"}};
    auto context = world.look();
    context.pod = nullptr;
    EXPECT_TRUE(StatefulHandoff().reads(context).empty()) << ref;
    EXPECT_FALSE(StatefulHandoff().verify(context).unfinished) << ref;
  }
}

/// From 3.0 on, PostgresCluster is in an API group of Percona, and its annotations are overwritten by those of the
/// PerconaPGCluster that owns it.
TEST(Pgo, IsTriggeredThroughPerconaPgClusterUnderPerconasOperator) {
  World world(kPgo, "master");
  world.cluster_status = 404;
  EXPECT_EQ(world.failure(), "") << "the other group is still to be read";
  auto reads = StatefulHandoff().reads(world.look());
  EXPECT_EQ(reads.back().request.path, "/apis/upstream.pgv2.percona.com/v1beta1/namespaces/shop/postgresclusters/pg");
  Json inner = world.cluster;
  inner["metadata"]["ownerReferences"] = Json::array(
      {{{"apiVersion", "pgv2.percona.com/v2"}, {"kind", "PerconaPGCluster"}, {"name", "pg"}, {"controller", true}}});
  world.more = {{"percona-postgrescluster", 200, inner.dump()}};
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << "PerconaPGCluster is still to be read";
  reads = StatefulHandoff().reads(world.look());
  EXPECT_EQ(reads.back().request.path, "/apis/pgv2.percona.com/v2/namespaces/shop/perconapgclusters/pg");
  const Json holder = {{"metadata", {{"name", "pg"}, {"uid", "holder-uid"}, {"resourceVersion", "99"}}}};
  world.more.push_back({"perconapgcluster", 200, holder.dump()});
  const auto plan = StatefulHandoff().plan(world.look());
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->request.path, "/apis/pgv2.percona.com/v2/namespaces/shop/perconapgclusters/pg");
  EXPECT_EQ(Json::parse(plan.action->request.body)["metadata"],
            (Json{{"uid", "holder-uid"}, {"resourceVersion", "99"}, {"annotations", {{kTrigger, kToken}}}}));
  EXPECT_EQ(StatefulHandoff().observe(world.look()).refs,
            (evictors::Refs{{"triggered", "perconapgclusters.pgv2.percona.com/pg"}}));
  world.more = {{"percona-postgrescluster", 404, "{}"}};
  EXPECT_EQ(world.failure(), "ClusterNotFound");
  world.more = {{"percona-postgrescluster", 403, "{}"}};
  EXPECT_EQ(world.failure(), "Forbidden");
  world.more = {{"percona-postgrescluster", 0,
                 "404, but the response does not report that \"pg\" does not exist: 404 page not found", true}};
  EXPECT_EQ(world.failure(), "ClusterNotFound") << "Percona's operator is not installed";
}

TEST(Pgo, IsTriggeredThroughAPerconaPostgresClusterWithoutAnOwner) {
  World world(kPgo, "master");
  world.cluster_status = 404;
  world.more = {{"percona-postgrescluster", 200, world.cluster.dump()}};
  const auto plan = StatefulHandoff().plan(world.look());
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->request.path, "/apis/upstream.pgv2.percona.com/v1beta1/namespaces/shop/postgresclusters/pg");
}

TEST(Pgo, LooksForItsTriggerAgainAfterTheEnd) {
  World world(kPgo, "master", EvacuationPhase::kFailed);
  const auto reads = StatefulHandoff().reads(world.look());
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].name, "postgrescluster");
  World other(kCnpg, "primary", EvacuationPhase::kFailed);
  EXPECT_TRUE(StatefulHandoff().reads(other.look()).empty());
}

TEST(Documents, AreValidated) {
  EXPECT_FALSE(evictors::object_of(nullptr));
  for (const char* body : {"", "<html>", "[]", "7", "null", "{"}) {
    const Document document{"x", 200, body};
    EXPECT_FALSE(evictors::object_of(&document)) << body;
  }
  const Document refused{"x", 404, R"({"message":"not here"})"};
  EXPECT_FALSE(evictors::object_of(&refused));
  EXPECT_EQ(evictors::problem_of(refused), "404: not here");
  EXPECT_EQ(api::text_at(Json{{"a", {{"b", 7}}}}, {"a", "b"}), "");
  for (const char* name : {"", "a/b", "a b", "a%2f", "ä"}) EXPECT_FALSE(evictors::is_plain_name(name)) << name;
}

}  // namespace handoff_switchover_test
