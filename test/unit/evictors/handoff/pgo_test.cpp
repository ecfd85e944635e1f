#include <gtest/gtest.h>

#include <algorithm>

#include "test/unit/evictors/handoff/switchover_fixture.hpp"

/// The adapter pgo, which sets a trigger on a PostgresCluster or on Percona's object.
namespace handoff_pgo_test {

using namespace handoff_switchover_fixture;

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
  EXPECT_NE(failed->message.find("PostgresCluster pg has the trigger-switchover \"by an admin\""), std::string::npos)
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

}  // namespace handoff_pgo_test
