#include <gtest/gtest.h>

#include "test/unit/evictors/handoff/switchover_fixture.hpp"

/// The adapter cloudnative-pg, which sets the target primary in a Cluster's status.
namespace handoff_cloudnative_pg_test {

using namespace handoff_switchover_fixture;

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

}  // namespace handoff_cloudnative_pg_test
