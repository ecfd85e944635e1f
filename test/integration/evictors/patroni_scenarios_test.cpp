#include <memory>
#include <optional>

#include "controllers/operator/services_config.hpp"
#include "simulator/operators/patroni.hpp"
#include "simulator/pod_facts.hpp"
#include "test/integration/evictors/switchover_scenarios_fixture.hpp"

/// Patroni under Zalando's operator, or behind a configured service.
namespace patroni_scenarios_test {

using namespace switchover_scenarios_fixture;

/// Patroni's REST API behind the pod proxy: answers with `script`, then switches over.
class Patroni : public Switchover {
 protected:
  void patroni_answers(std::vector<kube::Response> script) {
    replica->transport.lie = [this, script = std::move(script), next = std::size_t{0}](
                                 const kube::Request& request) mutable -> std::optional<kube::Response> {
      if (!request.path.ends_with("/proxy/switchover")) return std::nullopt;
      path = request.path;
      asked.push_back(Json::parse(request.body));
      if (next < script.size()) return script[next++];
      promote(asked.back()["candidate"]);
      return kube::Response{200, "Successfully switched over to \"pg-1\"", {}, "text/plain"};
    };
  }
  std::vector<Json> asked;
  std::string path;
};

TEST_F(Patroni, IsAskedThroughThePodProxyUntilItSwitches) {
  zalando();
  patroni_answers({{412, "no good candidates have been found", {}, ""}, {503, "Switchover failed", {}, ""}});
  expect_evicted_as_replica(begin_evacuation(), "patroni");
  EXPECT_EQ(path, "/api/v1/namespaces/shop/pods/http:pg-0:8008/proxy/switchover");
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0], (Json{{"leader", "pg-0"}, {"candidate", "pg-1"}})) << "the leader is the guard";
}

TEST_F(Patroni, ThatRefusesKeepsThePod) {
  zalando();
  patroni_answers({{400, "Switchover could be performed only from a specific leader", {}, ""}});
  expect_end(begin_evacuation(), Phase::kFailed, "NotEvictable", "Patroni: Switchover could be performed");
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

TEST_F(Patroni, PermanentRefusalsEndTheAttempt) {
  zalando();
  patroni_answers(std::vector<kube::Response>(1000, {412, "no good candidates have been found", {}, ""}));
  expect_end(begin_evacuation(), Phase::kFailed, "BlockedTimeout", "no good candidates");
  EXPECT_TRUE(evictions().empty());
}

/// Three members under the simulator's Patroni, which behaves like the real one.
class RealPatroni : public Switchover {
 protected:
  void patroni(simulator::PatroniCluster its = {}, std::size_t replicas = 3) {
    auto made = std::make_unique<simulator::Patroni>(cluster->store());
    patroni_ = made.get();
    cluster->add_actor(std::move(made));
    server->add_endpoint([this](const auto& info, const auto& request) { return patroni_->answer(info, request); });
    begin("spilo-role", "master", {{"cluster-name", "db"}, {"application", "spilo"}}, replicas);
    its.ns = "shop";
    its.name = "db";
    patroni_->add(std::move(its));
    patroni_->promote("db", "pg-0");
    settle();
    ASSERT_EQ(role_of("pg-0"), "master");
    replica->transport.before_each_call = [this](const kube::Request& request) {
      if (!request.path.ends_with("/pg-0/eviction")) return;
      role_when_evicted = role_of("pg-0");
      leader_when_evicted = patroni_->leader("db");
    };
  }
  simulator::PatroniCluster& its() { return patroni_->cluster("db"); }
  std::vector<std::string> candidates_asked() const {
    std::vector<std::string> names;
    for (const Json& body : patroni_->asked) names.push_back(body["candidate"]);
    return names;
  }
  void expect_moved(const std::string& name, const std::vector<std::string>& asked) {
    expect_end(name, Phase::kSucceeded, "Evicted");
    EXPECT_EQ(role_when_evicted, "replica");
    EXPECT_EQ(leader_when_evicted, asked.back()) << "evicted while another one leads";
    EXPECT_EQ(candidates_asked(), asked);
    EXPECT_EQ(granted(), 1u);
  }

  simulator::Patroni* patroni_ = nullptr;
  std::string leader_when_evicted;
};

TEST_F(RealPatroni, SwitchesOverBeforeThePrimaryLeaves) {
  patroni();
  cordon(node_of("pg-0"));
  const std::string name = begin_evacuation();
  expect_moved(name, {"pg-1"});
  EXPECT_EQ(condition(name, "ReplacementReady"), "Ready");
}

TEST_F(RealPatroni, KeepsItsKeysInConfigMapsAsWell) {
  patroni({.config_maps = true, .switch_takes = seconds(5)});
  expect_moved(begin_evacuation(), {"pg-1"});
}

TEST_F(RealPatroni, IsWaitedForWhileItsAnswerIsOpen) {
  patroni({.switch_takes = seconds(15)});
  expect_moved(begin_evacuation(), {"pg-1"});
}

TEST_F(RealPatroni, KeepsTheOldPrimaryWithoutALeader) {
  patroni({.switch_takes = seconds(5)});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !patroni_->asked.empty(); }, seconds(60)));
  for (const char* each : {"pg-1", "pg-2"}) its().tags[each].frozen = true;
  ASSERT_TRUE(run_until([&] { return role_of("pg-0") == "replica"; }, seconds(60))) << "and nobody leads";
  run_for(seconds(10));
  EXPECT_TRUE(evictions().empty());
  ASSERT_TRUE(run_until([&] { return patroni_->leader("db") == "pg-0"; }, seconds(60))) << "it leads again";
  run_for(seconds(20));
  EXPECT_TRUE(evictions().empty());
  EXPECT_NE(condition(name, "ReadyToEvict"), "Ready");
  for (const char* each : {"pg-1", "pg-2"}) its().tags[each].frozen = false;
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_NE(leader_when_evicted, "pg-0");
  EXPECT_NE(leader_when_evicted, "");
}

TEST_F(RealPatroni, IsAskedForItsPreferredMember) {
  patroni({.tags = {{"pg-1", {.position = 500}}}});
  expect_moved(begin_evacuation(), {"pg-2"});
}

TEST_F(RealPatroni, InSynchronousModeSwitchesToTheStandby) {
  patroni({.sync_standby = "pg-2"});
  expect_moved(begin_evacuation(), {"pg-2"});
}

TEST_F(RealPatroni, IsNotAskedForAMemberThatMayNotLead) {
  patroni({.tags = {{"pg-1", {.nofailover = true}}}});
  expect_moved(begin_evacuation(), {"pg-2"});
}

TEST_F(RealPatroni, IsAskedForTheNextMemberAfterARefusal) {
  patroni({.tags = {{"pg-1", {.frozen = true}}}});
  expect_moved(begin_evacuation(), {"pg-1", "pg-2"});
}

TEST_F(RealPatroni, IsNotAskedForAMemberOnACordonedNode) {
  patroni();
  cordon(node_of("pg-1"));
  expect_moved(begin_evacuation(), {"pg-2"});
}

TEST_F(RealPatroni, IsAskedLastForAMemberThatLeavesItself) {
  patroni();
  const std::string other = evacuate("pg-1", [](Json& spec) { spec["suspend"] = true; });
  settle();
  expect_moved(begin_evacuation(), {"pg-2"});
  delete_evacuation(other);
}

TEST_F(RealPatroni, WithCredentialsIsAskedOnce) {
  patroni({.wants_credentials = true});
  expect_end(begin_evacuation(), Phase::kFailed, "NotEvictable", "in parameter service");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(RealPatroni, BehindTlsIsAskedThere) {
  patroni({.https = true});
  expect_moved(begin_evacuation(), {"pg-1"});
}

TEST_F(RealPatroni, ASwitchoverThatContinuesAfterACancelIsReported) {
  patroni({.performs_switchover = false});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !patroni_->asked.empty(); }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "RemoteMarkRemains");
  const auto* rollback = api::find_condition(get(name).status.conditions, "RollbackComplete");
  EXPECT_NE(rollback->message.find("the switchover to pg-1; pg-0 is the leader now"), std::string::npos)
      << rollback->message;
  EXPECT_TRUE(evictions().empty());
}

TEST_F(RealPatroni, GivesTheReplacementARoleBeforeItCounts) {
  patroni({.joining = seconds(20)});
  cordon(node_of("pg-0"));
  run_for(seconds(30));
  const std::string name = begin_evacuation();
  const std::string uid = pod_uid("pg-0");
  bool was_ready_without_role = false;
  watcher = [&] {
    const Json pod = object(kube::kPods, "pg-0");
    if (pod.empty() || pod["metadata"].value("uid", "") == uid) return;
    if (!simulator::facts_of(pod).ready || !role_of("pg-0").empty()) return;
    was_ready_without_role = true;
    EXPECT_NE(condition(name, "ReplacementReady"), "Ready");
  };
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_TRUE(was_ready_without_role);
  EXPECT_EQ(role_of("pg-0"), "replica");
  EXPECT_EQ(condition(name, "ReplacementReady"), "Ready");
}

TEST_F(RealPatroni, AProcessThatDiesAtEachCallLeavesTheSameEnd) {
  patroni({.switch_takes = seconds(3)});
  evacuate_over_deaths_at_each_call([](const std::string&) {},
                                    [&] {
                                      patroni_->promote("db", "pg-0");
                                      run_for(seconds(30));
                                    });
}

/// A configured service that implements Patroni's API.
class PatroniService final : public controllers::evacuation::ServiceCaller {
 public:
  std::string refusal(const controllers::evacuation::ServiceCall& call) const override {
    return controllers::refusal(config, call.use, call.ns);
  }
  evictors::CallResult send(const controllers::evacuation::ServiceCall& call, const kube::Request& request) override {
    calls.push_back(call.service + " " + request.path);
    bodies.push_back(Json::parse(request.body));
    if (on_call) on_call();
    return kube::Response{202, "Switchover scheduled", {}, "text/plain"};
  }
  const std::vector<std::string>& names() const override { return names_; }

  std::vector<std::string> calls;
  std::vector<Json> bodies;
  std::function<void()> on_call;
  controllers::ServiceConfig config = {.name = "patroni", .namespaces = {"shop"}, .uses = {"patroni"}};

 private:
  const std::vector<std::string> names_ = {"patroni"};
};

TEST_F(Patroni, IsAskedThroughAConfiguredServiceInstead) {
  PatroniService service;
  service.on_call = [this] { promote("pg-1"); };
  services = &service;
  zalando();
  expect_evicted_as_replica(begin_evacuation({{"switchover", "true"}, {"service", "patroni"}}), "patroni");
  EXPECT_EQ(service.calls, std::vector<std::string>{"patroni /switchover"});
  EXPECT_EQ(service.bodies.at(0).value("namespace", ""), "shop");
  stop_operator();
}

/// A tenant names and labels pods like the members of another tenant's cluster, whose Patroni is a service.
TEST_F(Patroni, AttackOnAnotherTenantsPatroniByPodsOfTheSameNameIsRefused) {
  PatroniService service;
  service.config.namespaces = {"bank"};
  services = &service;
  zalando();
  expect_end(begin_evacuation({{"adapter", "patroni"}, {"switchover", "true"}, {"service", "patroni"}}), Phase::kFailed,
             "NotAllowed",
             "service patroni may not be called as patroni for namespace shop: services[patroni].namespaces of the "
             "operator's configuration does not list shop");
  EXPECT_TRUE(service.calls.empty()) << "the other tenant's cluster heard nothing";
  EXPECT_EQ(role_of("pg-0"), "master");
  EXPECT_TRUE(evictions().empty());
  stop_operator();
}

TEST_F(Patroni, AttackThroughAServiceThatIsMeantForWebhooksIsRefused) {
  PatroniService service;
  service.config.uses = {"webhook", "hook"};
  services = &service;
  zalando();
  expect_end(begin_evacuation({{"switchover", "true"}, {"service", "patroni"}}), Phase::kFailed, "NotAllowed",
             "services[patroni].uses of the operator's configuration does not list patroni");
  EXPECT_TRUE(service.calls.empty());
  stop_operator();
}

}  // namespace patroni_scenarios_test
