#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "test/unit/evictors/handoff/switchover_fixture.hpp"

/// The adapter patroni, which calls Patroni's REST API and reads its keys in Kubernetes.
namespace handoff_patroni_test {

using namespace handoff_switchover_fixture;

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

TEST(Patroni, IsNotCalledAgainAfterItRejectsCredentials) {
  for (const auto& [code, body] :
       {std::pair(401, "no auth header received"), {401, "not authenticated"}, {403, "Access is denied"}}) {
    World world(kPatroni, "master");
    const auto plan = StatefulHandoff().plan(world.look());
    const auto meaning = StatefulHandoff().classify(world.look(), *plan.action, kube::Response{code, body, {}, ""});
    EXPECT_EQ(meaning.answer, ResponseClass::kPermanent) << body;
    EXPECT_NE(meaning.message.find("in parameter service"), std::string::npos) << meaning.message;
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

}  // namespace handoff_patroni_test
