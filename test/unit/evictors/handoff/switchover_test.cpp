#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "test/unit/evictors/objects.hpp"

/// The PostgreSQL adapters: switch a primary over first, evict it as a replica.
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
  const char* cluster_document;  ///< "": none
};
void PrintTo(const Flavour& flavour, std::ostream* out) { *out << flavour.adapter; }

const Flavour kCnpg{"cloudnative-pg", "cnpg.io/cluster", "cnpg.io/instanceRole", "primary", "cluster"};
const Flavour kPatroni{"patroni", "cluster-name", "spilo-role", "master", ""};
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

/// One look at shop/web-1 on node-a with what was read beside it.
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
    cluster = cluster_of(flavour, role == "replica" ? "web-2" : "web-1", role == "replica" ? "web-2" : "web-1");
    items = Json::array({instance("web-1", "node-a", role, flavour), instance("web-3", "node-c", "replica", flavour),
                         instance("web-2", "node-b", "replica", flavour)});
  }

  evictors::EvictorContext look() {
    documents.clear();
    if (*flavour.cluster_document) documents.push_back({flavour.cluster_document, cluster_status, cluster.dump()});
    for (const Document& each : more) documents.push_back(each);
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
  int cluster_status = 200;
  int instances_status = 200;
  std::vector<Document> documents;
};

class Switchover : public testing::TestWithParam<Flavour> {};
INSTANTIATE_TEST_SUITE_P(Adapters, Switchover, testing::Values(kCnpg, kPatroni, kPgo),
                         [](const auto& info) { return std::string(info.param.adapter).substr(0, 5); });

TEST_P(Switchover, EvictsAReplicaAtOnce) {
  for (const bool opted_in : {true, false}) {
    World world(GetParam(), "replica");
    world.opted_in = opted_in;
    const auto plan = StatefulHandoff().plan(world.look());
    ASSERT_EQ(plan.next, NextMove::kAct);
    EXPECT_EQ(plan.action->name, "PostEviction");
  }
}

TEST_P(Switchover, AsksAPrimaryToGoToAReadyReplicaElsewhere) {
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

TEST_P(Switchover, WaitsWhileTheRoleIsUnknown) {
  for (const char* role : {"", "unhealthy", "uninitialized", "Replica"}) {
    World world(GetParam(), role);
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << role;
    EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready) << role;
  }
}

TEST_P(Switchover, NamesTheLackOfACandidate) {
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

TEST_P(Switchover, NamesAReadThatIsForbiddenAndWaitsOutOneThatIsLost) {
  World world(GetParam(), GetParam().primary);
  world.instances_status = 403;
  EXPECT_EQ(world.failure(), "Forbidden");
  for (const int code : {0, 500, 503}) {
    world.instances_status = code;
    EXPECT_EQ(world.failure(), "") << code;
    EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait) << code;
  }
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

/// As `kubectl cnpg promote`: the condition follows the phase, and the others stay as they are.
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
  world.cluster["status"]["targetPrimary"] = "web-1";  // on its way back to us
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready);
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
  world.cluster["status"] = {{"currentPrimary", "web-1"}, {"targetPrimary", "web-2"}};
  EXPECT_FALSE(StatefulHandoff().observe(world.look()).ready);
}

TEST(CloudNativePg, FollowsASwitchoverOfSomebodyElse) {
  World world(kCnpg, "primary");
  world.cluster["status"]["targetPrimary"] = "web-3";
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
  EXPECT_TRUE(StatefulHandoff().observe(world.look()).requested);
  world.of.status.phase = EvacuationPhase::kAborting;
  EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty());
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kNothingToDo);
}

/// Naming the old primary again while it shuts down gives two primaries.
TEST(CloudNativePg, NeverTakesAnAcceptedSwitchoverBack) {
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

TEST(Patroni, IsNotAskedTwiceInOneAttempt) {
  World world(kPatroni, "master", EvacuationPhase::kInProgress);
  world.of.status.refs = {{"switchover", "asked"}};
  EXPECT_EQ(StatefulHandoff().plan(world.look()).next, NextMove::kWait);
}

TEST(Pgo, TriggersWithItsTokenAndWaitsForTheOperatorsWord) {
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

TEST(Pgo, NamesTheSwitchThatIsOff) {
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

/// PGO acts on a trigger that it is not through with for ever, and reconciles nothing else while it fails.
TEST(Pgo, TakesItsTriggerAwayWhereverItEnds) {
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

TEST(Pgo, LeavesATriggerOfSomebodyElseAlone) {
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

TEST(Pgo, TakesItsTriggerAwayBeforeItEvicts) {
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

TEST(Pgo, IsNotSureOfATriggerItCannotSee) {
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

TEST(Pgo, WaitsForATriggerOfSomebodyElse) {
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

TEST(Pgo, RemembersItsClusterForWhenThePodIsGone) {
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

TEST(Pgo, LooksForATriggerWhoseAnswerWasLostUntilItCannotArriveAnyMore) {
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

TEST(Pgo, BelievesNoReferenceThatItDidNotWrite) {
  for (const char* ref : {"", "pg", "secrets./pg", "postgresclusters.postgres-operator.crunchydata.com/../x", "/"}) {
    World world(kPgo, "master", EvacuationPhase::kVerifying);
    world.of.status.refs = {{"triggered", ref}, {"trigger", "set"}};
    auto context = world.look();
    context.pod = nullptr;
    EXPECT_TRUE(StatefulHandoff().reads(context).empty()) << ref;
    EXPECT_FALSE(StatefulHandoff().verify(context).unfinished) << ref;
  }
}

/// From 3.0 on PostgresCluster is in a group of Percona's, and its annotations are written over by those of the
/// PerconaPGCluster that it is made from.
TEST(Pgo, IsTriggeredByPerconasOwnObjectUnderPerconasOperator) {
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
  world.more = {{"percona-postgrescluster", 0, "404, but not that \"pg\" does not exist: 404 page not found", true}};
  EXPECT_EQ(world.failure(), "ClusterNotFound") << "Percona's operator is not installed";
}

TEST(Pgo, IsTriggeredByThePostgresClusterOfPerconasGroupThatNobodyMakes) {
  World world(kPgo, "master");
  world.cluster_status = 404;
  world.more = {{"percona-postgrescluster", 200, world.cluster.dump()}};
  const auto plan = StatefulHandoff().plan(world.look());
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->request.path, "/apis/upstream.pgv2.percona.com/v1beta1/namespaces/shop/postgresclusters/pg");
}

TEST(Pgo, LooksForItsTriggerOnceMoreAfterTheEnd) {
  World world(kPgo, "master", EvacuationPhase::kFailed);
  const auto reads = StatefulHandoff().reads(world.look());
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].name, "postgrescluster");
  World other(kCnpg, "primary", EvacuationPhase::kFailed);
  EXPECT_TRUE(StatefulHandoff().reads(other.look()).empty());
}

TEST(Documents, AreReadWithoutTrust) {
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
