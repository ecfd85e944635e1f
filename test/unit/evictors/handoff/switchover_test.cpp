#include <gtest/gtest.h>

#include <algorithm>

#include "test/unit/evictors/handoff/switchover_fixture.hpp"

/// What the PostgreSQL adapters have in common. A primary must be switched over first and then be evicted as a replica.
namespace handoff_switchover_test {

using namespace handoff_switchover_fixture;

class Switchover : public testing::TestWithParam<Flavour> {};
INSTANTIATE_TEST_SUITE_P(Adapters, Switchover, testing::Values(kCnpg, kPatroni, kPgo, kEdb), [](const auto& test) {
  return std::string(test.param.cluster_label) == kEdb.cluster_label ? "edb"
                                                                     : std::string(test.param.adapter).substr(0, 5);
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

}  // namespace handoff_switchover_test
