#include <nlohmann/json.hpp>
#include <utility>

#include "controllers/operator/services_config.hpp"
#include "simulator/objects.hpp"
#include "simulator/operators/patroni.hpp"
#include "test/integration/rig/rig.hpp"

/// The PostgreSQL adapters of stateful-handoff end to end: CloudNativePG, Patroni under Zalando's operator, PGO.
namespace switchover_scenarios_test {

using api::Json;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;

const kube::ResourceType kCnpg{"postgresql.cnpg.io", "v1", "clusters", "Cluster"};
const kube::ResourceType kEdb{"postgresql.k8s.enterprisedb.io", "v1", "clusters", "Cluster"};
const kube::ResourceType kPgo{"postgres-operator.crunchydata.com", "v1beta1", "postgresclusters", "PostgresCluster"};
const kube::ResourceType kPerconaPgo{"upstream.pgv2.percona.com", "v1beta1", "postgresclusters", "PostgresCluster"};
const kube::ResourceType kPerconaPg{"pgv2.percona.com", "v2", "perconapgclusters", "PerconaPGCluster"};
const kube::ResourceType kEndpoints{"", "v1", "endpoints", "Endpoints"};
const std::string kPgoPrefix = "postgres-operator.crunchydata.com/";

Json definition_of(const kube::ResourceType& type) {
  const std::string plural(type.plural);
  Json version = {{"name", type.version}, {"served", true}, {"storage", true}};
  version["schema"]["openAPIV3Schema"] = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  version["subresources"]["status"] = Json::object();
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", plural + "." + std::string(type.group)}}},
          {"spec",
           {{"group", type.group},
            {"scope", "Namespaced"},
            {"names", {{"plural", plural}, {"kind", type.kind}}},
            {"versions", Json::array({version})}}}};
}

/// Two instances pg-0 (primary) and pg-1 on two nodes, and the operator that switches them over.
class Switchover : public Rig {
 protected:
  void begin(const std::string& role_label, const std::string& primary, const Json& labels, std::size_t replicas = 2) {
    namespace objects = simulator::objects;
    role_label_ = role_label;
    primary_ = primary;
    add(objects::name_space("shop"));
    for (const char* node : {"node-a", "node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    Json set = objects::stateful_set("shop", "pg", static_cast<int>(replicas), "100m", "64Mi");
    Json& on_pods = objects::template_of(set)["metadata"]["labels"];
    on_pods.update(labels);
    on_pods[role_label] = "replica";
    add(std::move(set));
    ASSERT_TRUE(run_until([&] { return pods("pg").size() == replicas; }, std::chrono::minutes(2)));
    add_budget("pg-primary", {{role_label, primary}});
    promote("pg-0");
    run_for(seconds(60));
    ASSERT_NE(node_of("pg-0"), node_of("pg-1"));
    start_operator();
    replica->transport.before_each_call = [this](const kube::Request& request) {
      if (request.path.ends_with("/pg-0/eviction")) role_when_evicted = role_of("pg-0");
    };
  }
  void add_budget(const std::string& name, const Json& match) {
    Json budget = simulator::objects::pdb_min_available("shop", name, "pg", 1);
    budget["spec"]["selector"] = {{"matchLabels", match}};
    add(std::move(budget));
  }
  void remove_budgets() {
    for (const auto& each : cluster->store().list(kube::kPdbs, "shop"))
      ASSERT_TRUE(cluster->store().remove(kube::kPdbs, {"shop", (*each)["metadata"]["name"]}));
  }
  void cloudnative_pg() {
    begin("cnpg.io/instanceRole", "primary", {{"cnpg.io/cluster", "db"}});
    custom(kCnpg, {{"status", {{"currentPrimary", "pg-0"}, {"targetPrimary", "pg-0"}}}});
  }
  void zalando() { begin("spilo-role", "master", {{"cluster-name", "db"}}); }
  /// Creates a PGO cluster with the leader key of its Patroni.
  void begin_pgo() {
    begin(kPgoPrefix + "role", "master", {{kPgoPrefix + "cluster", "db"}, {kPgoPrefix + "instance", "db-0"}});
    add({{"apiVersion", "v1"}, {"kind", "Endpoints"}, {"metadata", {{"name", "db-ha"}, {"namespace", "shop"}}}});
    has_leader_key_ = true;
    set_leader_key("pg-0");
  }
  void crunchy(const Json& switchover) {
    begin_pgo();
    edit(kube::kPods, "pg-1", [](Json& pod) { pod["metadata"]["labels"][kPgoPrefix + "instance"] = "db-1"; });
    custom(kPgo, {{"spec", {{"patroni", {{"switchover", switchover}}}}}});
  }
  void custom(const kube::ResourceType& type, const Json& parts) {
    ASSERT_TRUE(server->install_crd(definition_of(type)));
    Json object = {
        {"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", {{"name", "db"}, {"namespace", "shop"}}}};
    const auto made = server->handle(kube::create_request(type, "shop", object), {"admin", {}, "kubectl"});
    ASSERT_EQ(made.status, 201) << made.body;
    edit(type, "db", [&](Json& stored) { stored.update(parts); });
  }

  Json object(const kube::ResourceType& type, const std::string& name) const {
    const auto found = cluster->store().get(type, {"shop", name});
    return found ? *found : Json::object();
  }
  std::string node_of(const std::string& pod) const { return object(kube::kPods, pod)["spec"].value("nodeName", ""); }
  std::string role_of(const std::string& pod) const {
    return object(kube::kPods, pod)["metadata"]["labels"].value(role_label_, "");
  }
  void cordon(const std::string& node) {
    edit(
        kube::kNodes, node, [](Json& stored) { stored["spec"]["unschedulable"] = true; }, "");
  }
  void set_role(const std::string& pod, const std::string& role) {
    edit(kube::kPods, pod, [&](Json& stored) { stored["metadata"]["labels"][role_label_] = role; });
  }
  /// An empty `pod` means that no member leads.
  void set_leader_key(const std::string& pod) {
    edit(kEndpoints, "db-ha", [&](Json& stored) {
      stored["metadata"]["annotations"] = {{"ttl", "30"}, {"acquireTime", "2026-11-21T12:00:00Z"}};
      if (!pod.empty()) stored["metadata"]["annotations"]["leader"] = pod;
    });
  }
  void promote(const std::string& pod) {
    if (has_leader_key_) set_leader_key(pod);
    for (const std::string& each : pods("pg")) set_role(each, each == pod ? primary_ : "replica");
  }

  /// Creates an Evacuation with the default list of evictors.
  std::string begin_plain_evacuation() {
    return evacuate("pg-0", [](Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  }
  std::string begin_evacuation(const Json& parameters = {{"switchover", "true"}}, int attempts = 1) {
    return evacuate("pg-0", [&](Json& spec) {
      spec["evictors"] = Json::array({{{"name", "stateful-handoff"}, {"parameters", parameters}}});
      spec["retry"] = {{"maxAttempts", attempts}};
    });
  }
  void expect_end(const std::string& name, Phase phase, const std::string& why, const std::string& says = "") {
    ASSERT_TRUE(run_to_end(name)) << api::to_string(this->phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(this->phase(name), phase) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message;
    EXPECT_NE(get(name).status.message.find(says), std::string::npos) << get(name).status.message;
  }
  void expect_evicted_as_replica(const std::string& name, const std::string& adapter) {
    expect_end(name, Phase::kSucceeded, "Evicted");
    EXPECT_EQ(get(name).status.adapter, adapter);
    EXPECT_EQ(role_when_evicted, "replica");
    EXPECT_EQ(granted(), 1u);
    EXPECT_EQ(role_of("pg-1"), primary_);
  }

  /// Runs one Evacuation after the other, each with a process that crashes at another call. All must succeed. `check`
  /// verifies each, and `again` makes pg-0 the primary again.
  void evacuate_over_deaths_at_each_call(const std::function<void(const std::string& name)>& check,
                                         const std::function<void()>& again) {
    for (int at = 0; at < 14; ++at) {
      SCOPED_TRACE("died at call " + std::to_string(at));
      start_operator("first");
      const std::string name = begin_evacuation();
      replica->transport.die_in(at, at % 2 == 0 ? fakes::Death::kBeforeTheCall : fakes::Death::kAfterTheCall);
      ASSERT_TRUE(run_to_end_over_deaths({name}, std::chrono::hours(1)));
      EXPECT_EQ(reason(name), "Evicted") << get(name).status.message;
      check(name);
      if (HasFailure()) return;
      run_for(seconds(60));
      promote("pg-0");
      again();
    }
  }

  std::string role_when_evicted;

 private:
  std::string role_label_;
  std::string primary_;
  bool has_leader_key_ = false;
};

// --- primaries whose owner did not opt in

/// The budgets that the operators create themselves. Without any, only this evictor protects the primary.
class UnaskedPrimary : public Switchover {
 protected:
  void expect_kept() {
    const std::string name = begin_plain_evacuation();
    expect_end(name, Phase::kFailed, "NotEvictable", "set parameter switchover to \"true\"");
    EXPECT_TRUE(evictions().empty());
    delete_evacuation(name);
    settle();
  }
  void expect_kept_by_any_of(const std::vector<Json>& budgets) {
    remove_budgets();
    expect_kept();
    for (const Json& match : budgets) {
      SCOPED_TRACE(match.dump());
      add_budget("of-the-operator", match);
      run_for(seconds(10));
      expect_kept();
      remove_budgets();
    }
  }
};

TEST_F(UnaskedPrimary, OfCloudNativePgStays) {
  cloudnative_pg();
  expect_kept_by_any_of(
      {{{"cnpg.io/cluster", "db"}, {"cnpg.io/instanceRole", "primary"}}, {{"cnpg.io/cluster", "db"}}});
}

TEST_F(UnaskedPrimary, OfEdbStays) {
  begin("k8s.enterprisedb.io/instanceRole", "primary", {{"k8s.enterprisedb.io/cluster", "db"}});
  expect_kept_by_any_of({{{"k8s.enterprisedb.io/cluster", "db"}}});
}

TEST_F(UnaskedPrimary, OfZalandoStays) {
  zalando();
  expect_kept_by_any_of({{{"cluster-name", "db"}, {"spilo-role", "master"}}});
}

TEST_F(UnaskedPrimary, OfPgoAndPerconaStays) {
  crunchy({{"enabled", true}});
  expect_kept_by_any_of({{{kPgoPrefix + "cluster", "db"}}});
}

TEST_F(UnaskedPrimary, BetweenTwoRolesStays) {
  begin("spilo-role", "master", {{"cluster-name", "db"}, {"application", "spilo"}});
  remove_budgets();
  edit(kube::kPods, "pg-0", [](Json& pod) { pod["metadata"]["labels"].erase("spilo-role"); });
  const auto began = clock.now();
  expect_end(begin_plain_evacuation(), Phase::kFailed, "NotEvictable", "no role in its cluster");
  EXPECT_LE(clock.now() - began, seconds(70)) << "a slot is not held for what was never asked";
  EXPECT_TRUE(evictions().empty());
}

TEST_F(UnaskedPrimary, KeepsTheHintWhereOnlyTheEvictionApiIsNamed) {
  cloudnative_pg();
  const std::string name = evacuate("pg-0", [](Json& spec) {
    spec["evictors"] = Json::array({{{"name", "eviction-api"}}});
  });
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "PDBNeverAllows"; }, seconds(60)));
  const std::string said = get(name).status.message;
  EXPECT_NE(said.find("switchover"), std::string::npos) << said;
  EXPECT_EQ(said.find("maxUnavailable"), std::string::npos) << "that would let the primary go: " << said;
  cancel(name);
}

TEST_F(UnaskedPrimary, IsNoPoolerAndNoJob) {
  cloudnative_pg();
  remove_budgets();
  edit(kube::kPods, "pg-0", [](Json& pod) {
    Json& labels = pod["metadata"]["labels"];
    labels.erase("cnpg.io/instanceRole");
    labels["cnpg.io/podRole"] = "pooler";
    labels["cnpg.io/poolerName"] = "rw";
  });
  const std::string name = begin_plain_evacuation();
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.evictor, "eviction-api");
}

// --- CloudNativePG

/// Follows targetPrimary `after` it was set, like CloudNativePG: the named instance is promoted whatever targetPrimary
/// contains by then, and an old primary that is named again meanwhile also starts as a primary.
class CloudNativePg : public Switchover {
 protected:
  void operator_switches(base::Duration after) {
    watcher = [this, after] {
      const std::string target = status("targetPrimary");
      if (!candidate_ && target != status("currentPrimary")) candidate_.emplace(target, clock.now() + after);
      if (!candidate_ || clock.now() < candidate_->second) return;
      const std::string promoted = std::exchange(candidate_, std::nullopt)->first;
      promote(promoted);
      if (target != promoted) set_role(target, "primary");
      edit(*type_, "db", [&](Json& stored) { stored["status"]["currentPrimary"] = promoted; });
    };
  }
  std::string status(const char* field) const { return object(*type_, "db")["status"].value(field, ""); }
  const kube::ResourceType* type_ = &kCnpg;
  int primaries() const { return (role_of("pg-0") == "primary" ? 1 : 0) + (role_of("pg-1") == "primary" ? 1 : 0); }

 private:
  std::optional<std::pair<std::string, base::TimePoint>> candidate_;
};

TEST_F(CloudNativePg, APrimaryIsSwitchedOverAndThenEvicted) {
  cloudnative_pg();
  operator_switches(seconds(40));
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  EXPECT_EQ(status("targetPrimary"), "pg-1");
  EXPECT_EQ(status("phase"), "Switchover in progress");
  EXPECT_TRUE(evictions().empty()) << "nothing is evicted while it is the primary";
  expect_evicted_as_replica(name, "cloudnative-pg");
}

TEST_F(CloudNativePg, OfEdbIsSwitchedOverInItsOwnGroup) {
  type_ = &kEdb;
  begin("k8s.enterprisedb.io/instanceRole", "primary", {{"k8s.enterprisedb.io/cluster", "db"}});
  custom(kEdb, {{"status", {{"currentPrimary", "pg-0"}, {"targetPrimary", "pg-0"}}}});
  operator_switches(seconds(40));
  expect_evicted_as_replica(begin_evacuation(), "cloudnative-pg");
}

TEST_F(CloudNativePg, PassesOverAReplicaThatDoesNotReceiveTheLog) {
  cloudnative_pg();
  server->add_endpoint([](const simulator::RequestInfo& info, const kube::Request& request) {
    const bool is_status = info.subresource == "proxy" && request.path.ends_with("/https:pg-1:8000/proxy/pg/status");
    return is_status ? std::optional(kube::Response{200, R"({"isWalReceiverActive":false})", {}, ""}) : std::nullopt;
  });
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "pg-1: its WAL receiver is not active");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, PassesOverAReplicaOnACordonedNode) {
  cloudnative_pg();
  cordon(node_of("pg-1"));
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "is cordoned");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, AFormerPrimaryIsNotEvictedWithoutALeader) {
  cloudnative_pg();
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return status("targetPrimary") == "pg-1"; }, seconds(30)));
  set_role("pg-0", "replica");
  edit(kCnpg, "db", [](Json& stored) { stored["status"]["currentPrimary"] = "pg-1"; });
  run_for(seconds(60));
  EXPECT_TRUE(evictions().empty()) << "pg-1 is no primary yet";
  set_role("pg-1", "primary");
  expect_evicted_as_replica(name, "cloudnative-pg");
}

TEST_F(CloudNativePg, AReplicaIsEvictedAsItIs) {
  cloudnative_pg();
  promote("pg-1");
  edit(kCnpg, "db", [](Json& stored) { stored["status"] = {{"currentPrimary", "pg-1"}, {"targetPrimary", "pg-1"}}; });
  expect_evicted_as_replica(begin_evacuation(Json::object()), "cloudnative-pg");
}

TEST_F(CloudNativePg, APrimaryIsNotTouchedUnlessTheParameterAllowsIt) {
  cloudnative_pg();
  expect_end(begin_evacuation(Json::object()), Phase::kFailed, "NotEvictable", "switchover");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, ACancelNeverGivesTwoPrimaries) {
  cloudnative_pg();
  operator_switches(seconds(40));
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return status("targetPrimary") == "pg-1"; }, seconds(30)));
  run_for(seconds(10));
  cancel(name);
  const auto began = clock.now();
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_LE(clock.now() - began, seconds(10)) << "nothing is waited for";
  EXPECT_EQ(condition(name, "RollbackComplete"), "RemoteMarkRemains");
  run_for(seconds(120));
  EXPECT_EQ(status("targetPrimary"), "pg-1");
  EXPECT_EQ(status("currentPrimary"), "pg-1");
  EXPECT_EQ(primaries(), 1);
  EXPECT_TRUE(evictions().empty());
}

TEST_F(CloudNativePg, ASwitchoverThatNeverEndsIsNotTakenBackAfterItsTotal) {
  cloudnative_pg();
  const std::string name = begin_evacuation();
  const auto began = clock.now();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_GE(clock.now() - began, seconds(600));
  EXPECT_LE(clock.now() - began, seconds(700));
  EXPECT_EQ(condition(name, "RollbackComplete"), "RemoteMarkRemains");
  EXPECT_EQ(status("targetPrimary"), "pg-1") << "it still becomes primary";
  EXPECT_TRUE(evictions().empty());
}

TEST_F(CloudNativePg, WithoutAHealthyReplicaNothingIsRequested) {
  cloudnative_pg();
  set_role("pg-1", "unhealthy");
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "NoHealthyReplica");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, AProcessThatDiesAtEachCallLeavesTheSameEnd) {
  cloudnative_pg();
  operator_switches(seconds(20));
  evacuate_over_deaths_at_each_call([&](const std::string& name) { EXPECT_EQ(get(name).status.attempt, 1); },
                                    [&] {
                                      edit(kCnpg, "db", [](Json& stored) {
                                        stored["status"] = {{"currentPrimary", "pg-0"}, {"targetPrimary", "pg-0"}};
                                      });
                                    });
}

// --- Patroni under Zalando's operator

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
  expect_end(begin_evacuation(), Phase::kFailed, "NotEvictable", "by parameter service");
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

// --- PGO

/// PGO reconciles the cluster like its reconcilePatroniSwitchover: every failure skips the rest of the reconcile, and
/// it retries until the trigger is removed or its status contains it.
class Pgo : public Switchover {
 protected:
  void operator_works() {
    watcher = [this] { reconcile(); };
  }

  int failures = 0;          ///< number of failed reconciles
  int forced_failovers = 0;  ///< number of failovers with a risk of data loss
  bool patroni_fails = false;

 private:
  void reconcile() {
    const Json cluster = object(kPgo, "db");
    const Json spec = cluster["spec"]["patroni"]["switchover"];
    const std::string done = cluster.value(Json::json_pointer("/status/patroni/switchover"), "");
    if (!spec.value("enabled", false)) {
      if (!done.empty()) through_with("");
      return;
    }
    if (trigger().empty() || trigger() == done) return;
    const std::string target = spec.value("targetInstance", "");
    const bool forced = spec.value("type", "Switchover") == "Failover";
    const bool known = target.empty() || target == "db-0" || target == "db-1";
    const std::string to = target == "db-0" ? "pg-0" : "pg-1";
    if (patroni_fails || !known || (forced && target.empty()) || role_of(to) == "master") {
      ++failures;
      return;
    }
    if (forced) ++forced_failovers;
    promote(to);
    through_with(trigger());
  }

 protected:
  std::string trigger() const {
    return object(kPgo, "db")["metadata"]
        .value("annotations", Json::object())
        .value(kPgoPrefix + "trigger-switchover", "");
  }
  void through_with(const std::string& token) {
    edit(kPgo, "db", [&](Json& stored) { stored["status"]["patroni"]["switchover"] = token; });
  }
};

TEST_F(Pgo, IsTriggeredByOurTokenAndSaysWhenItIsThrough) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(30)));
  EXPECT_EQ(trigger(), get(name).status.token);
  promote("pg-1");
  run_for(seconds(60));
  EXPECT_TRUE(evictions().empty()) << "the label has moved, but PGO is not through with it";
  through_with(trigger());
  expect_evicted_as_replica(name, "pgo");
  EXPECT_EQ(trigger(), "") << "our trigger is gone";
}

TEST_F(Pgo, AReplicaStaysWhileTheLabelledPrimaryIsFrozen) {
  crunchy({{"enabled", true}});
  promote("pg-1");
  set_leader_key("");
  const std::string name = begin_evacuation();
  run_for(seconds(40));
  EXPECT_EQ(role_of("pg-1"), "master") << "Patroni does not run there, and nobody takes the label off";
  EXPECT_TRUE(evictions().empty()) << "the pod may be promoted";
  set_leader_key("pg-1");
  expect_evicted_as_replica(name, "pgo");
}

TEST_F(Pgo, WithoutTheRightToItsKeysIsNotTriggered) {
  crunchy({{"enabled", true}});
  operator_works();
  server->add_endpoint([](const auto& info, const kube::Request&) -> std::optional<kube::Response> {
    if (info.plural != "endpoints") return std::nullopt;
    return kube::Response{403, R"({"kind":"Status","reason":"Forbidden","code":403})", {}, "application/json"};
  });
  expect_end(begin_evacuation(), Phase::kFailed, "Forbidden", "evacuator-handoff-pgo");
  EXPECT_EQ(trigger(), "");
  EXPECT_EQ(role_of("pg-0"), "master") << "it was not switched over in vain";
}

TEST_F(Pgo, ThatMayNotSwitchOverIsNamedWithTheFix) {
  crunchy({{"enabled", false}});
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "spec.patroni.switchover.enabled");
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Pgo, ThatWouldForceAFailoverIsNotTriggered) {
  crunchy({{"enabled", true}, {"type", "Failover"}, {"targetInstance", "db-1"}});
  operator_works();
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "spec.patroni.switchover.type");
  run_for(seconds(60));
  EXPECT_EQ(forced_failovers, 0);
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

TEST_F(Pgo, WhoseTargetInstanceIsThePrimaryIsNotTriggered) {
  crunchy({{"enabled", true}, {"targetInstance", "db-0"}});
  operator_works();
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "spec.patroni.switchover.targetInstance");
  run_for(seconds(60));
  EXPECT_EQ(failures, 0) << "PGO was not made to fail";
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Pgo, WhoseTargetInstanceIsAReadyReplicaElsewhereIsTriggered) {
  crunchy({{"enabled", true}, {"targetInstance", "db-1"}});
  operator_works();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  EXPECT_EQ(trigger(), "");
}

TEST_F(Pgo, ACancelRemovesItsTrigger) {
  crunchy({{"enabled", true}});
  patroni_fails = true;
  operator_works();
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return failures > 0; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_EQ(trigger(), "");
  const int before = failures;
  patroni_fails = false;
  run_for(seconds(600));
  EXPECT_EQ(failures, before);
  EXPECT_EQ(role_of("pg-0"), "master") << "our trigger does not fire after the cancel";
}

TEST_F(Pgo, KeepsAForeignTrigger) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(30)));
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(trigger(), "by an admin");
}

TEST_F(Pgo, DoesNotOverwriteAPendingForeignTrigger) {
  crunchy({{"enabled", true}});
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "TriggerPending");
  EXPECT_EQ(trigger(), "by an admin");
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

TEST_F(Pgo, WaitsForAPendingForeignTriggerAndContinues) {
  crunchy({{"enabled", true}});
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  const std::string name = begin_evacuation({{"switchover", "true"}}, 3);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kBackoff; }, seconds(60)));
  operator_works();
  expect_evicted_as_replica(name, "pgo");
  EXPECT_EQ(trigger(), "by an admin") << "that one moved the primary, and stays";
}

TEST_F(Pgo, LeavesNoTriggerWhenThePodGoesInTheMiddleOfIt) {
  for (const bool told : {true, false}) {
    SCOPED_TRACE(told ? "the answer came" : "the answer was lost");
    if (told) crunchy({{"enabled", true}});
    patroni_fails = true;
    operator_works();
    const std::string name = begin_evacuation();
    if (!told) {
      replica->transport.before_each_call = [&](const kube::Request& request) {
        if (request.method == "PATCH" && request.path.find("postgresclusters") != std::string::npos)
          replica->transport.die();
      };
    }
    ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(60)));
    if (!told) start_operator("second");
    ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", "pg-0"}, {}, 0));
    ASSERT_TRUE(run_to_end(name)) << get(name).status.message;
    EXPECT_EQ(phase(name), Phase::kSucceeded) << get(name).status.message;
    EXPECT_EQ(trigger(), "") << "PGO would try for ever";
    const int before = failures;
    run_for(seconds(600));
    EXPECT_EQ(failures, before);
    if (HasFailure()) return;
    promote("pg-0");
    run_for(seconds(60));
  }
}

class PgoSwitchover : public Pgo {
 protected:
  /// Makes PostgresClusters unreadable for the operator, or readable again.
  void hide_clusters(bool hidden) {
    server->faults().clear();
    if (!hidden) return;
    simulator::FaultRule down{simulator::FaultEffect::kUnavailable};
    down.verb = "get";
    down.resource = "postgresclusters";
    down.count = -1;
    server->faults().add(down);
  }
  /// Returns an Evacuation that ended while its trigger was unreadable.
  std::string end_unseen(bool pod_goes) {
    const std::string name = evacuate("pg-0", [&](Json& spec) {
      spec["evictors"] = Json::array({{{"name", "stateful-handoff"}, {"parameters", {{"switchover", "true"}}}}});
      spec["retry"] = {{"maxAttempts", 1}};
      spec["timeouts"] = {{"abortSeconds", 60}, {"verifySeconds", 60}};
    });
    EXPECT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(60)));
    hide_clusters(true);
    if (pod_goes) {
      EXPECT_TRUE(cluster->store().remove(kube::kPods, {"shop", "pg-0"}, {}, 0));
    } else {
      cancel(name);
    }
    EXPECT_TRUE(run_until([&] { return api::is_terminal(phase(name)); }, seconds(200))) << reason(name);
    settle();
    return name;
  }
};

TEST_F(PgoSwitchover, AnUnreadableTriggerKeepsTheFinalizerTemporarily) {
  crunchy({{"enabled", true}});
  patroni_fails = true;
  operator_works();
  for (const bool pod_goes : {false, true}) {
    SCOPED_TRACE(pod_goes ? "the pod is gone" : "the pod stays");
    const std::string name = end_unseen(pod_goes);
    EXPECT_FALSE(get(name).meta.finalizers.empty()) << reason(name);
    run_for(seconds(30));
    EXPECT_FALSE(get(name).meta.finalizers.empty());
    hide_clusters(false);
    ASSERT_TRUE(run_to_end(name, seconds(25)));
    EXPECT_EQ(trigger(), "") << "PGO would try for ever";
    delete_evacuation(name);
    if (HasFailure()) return;
  }
}

TEST_F(PgoSwitchover, AnUnreadableTriggerDoesNotKeepTheFinalizerForever) {
  crunchy({{"enabled", true}});
  patroni_fails = true;
  operator_works();
  const std::string name = end_unseen(false);
  EXPECT_TRUE(run_to_end(name, seconds(61)));
  EXPECT_NE(trigger(), "");
  hide_clusters(false);
}

TEST_F(Pgo, KeepsAForeignTriggerWhenThePodLeaves) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(60)));
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", "pg-0"}, {}, 0));
  ASSERT_TRUE(run_to_end(name)) << get(name).status.message;
  EXPECT_EQ(trigger(), "by an admin");
}

/// Percona's operator 3.0: PostgresCluster in its own API group, created from a PerconaPGCluster whose annotations and
/// settings overwrite it in each reconcile.
class Percona : public Switchover {
 protected:
  void percona(const Json& switchover) {
    begin_pgo();
    custom(kPerconaPg, {{"spec", {{"patroni", {{"switchover", switchover}}}}}});
    custom(kPerconaPgo, Json::object());
    const Json uid = object(kPerconaPg, "db")["metadata"]["uid"];
    edit(kPerconaPgo, "db", [&](Json& stored) {
      stored["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "pgv2.percona.com/v2"},
                                                            {"kind", "PerconaPGCluster"},
                                                            {"name", "db"},
                                                            {"uid", uid},
                                                            {"controller", true}}});
    });
    watcher = [this] {
      copy_down();
      switch_over();
    };
  }
  std::string trigger(const kube::ResourceType& type) const {
    return object(type, "db")["metadata"]
        .value("annotations", Json::object())
        .value(kPgoPrefix + "trigger-switchover", "");
  }

 protected:
  void copy_down() {
    const Json own = object(kPerconaPg, "db");
    const Json annotations = own["metadata"].value("annotations", Json::object());
    const Json inner = object(kPerconaPgo, "db");
    if (inner["metadata"].value("annotations", Json::object()) == annotations && inner.contains("spec")) return;
    edit(kPerconaPgo, "db", [&](Json& stored) {
      stored["metadata"]["annotations"] = annotations;
      stored["spec"] = own["spec"];
    });
  }
  void switch_over() {
    const std::string wanted = trigger(kPerconaPgo);
    const Json cluster = object(kPerconaPgo, "db");
    const bool enabled = cluster.value(Json::json_pointer("/spec/patroni/switchover/enabled"), false);
    if (!enabled || wanted.empty() || wanted == cluster.value(Json::json_pointer("/status/patroni/switchover"), ""))
      return;
    promote("pg-1");
    edit(kPerconaPgo, "db", [&](Json& stored) { stored["status"]["patroni"]["switchover"] = wanted; });
  }
};

TEST_F(Percona, IsTriggeredByItsOwnObject) {
  percona({{"enabled", true}});
  settle();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  EXPECT_EQ(trigger(kPerconaPg), "");
  run_for(seconds(60));
  EXPECT_EQ(trigger(kPerconaPgo), "");
}

/// The inner operator runs alone, so no outer object overwrites the annotations.
TEST_F(Percona, WithoutAnObjectOfItsOwnTheInnerOneIsTriggered) {
  begin_pgo();
  custom(kPerconaPgo, {{"spec", {{"patroni", {{"switchover", {{"enabled", true}}}}}}}});
  watcher = [this] { switch_over(); };
  settle();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  EXPECT_EQ(trigger(kPerconaPgo), "");
}

TEST_F(Percona, WithoutSwitchoverNamesTheObjectToChange) {
  percona({{"enabled", false}});
  settle();
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed",
             "set spec.patroni.switchover.enabled to true on PerconaPGCluster db");
  EXPECT_EQ(trigger(kPerconaPg), "");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Pgo, DoesNotSwitchOverAgainWhenItIsEnabledAgainLater) {
  crunchy({{"enabled", true}});
  operator_works();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  run_for(seconds(60));
  promote("pg-0");
  for (const bool enabled : {false, true}) {
    edit(kPgo, "db", [&](Json& stored) { stored["spec"]["patroni"]["switchover"]["enabled"] = enabled; });
    run_for(seconds(60));
  }
  EXPECT_EQ(role_of("pg-0"), "master") << "no stale trigger is left";
}

TEST_F(Pgo, AProcessThatDiesAtEachCallLeavesNoTrigger) {
  crunchy({{"enabled", true}});
  operator_works();
  evacuate_over_deaths_at_each_call([&](const std::string&) { EXPECT_EQ(trigger(), ""); }, [] {});
}

TEST_F(Pgo, ThatNeverActsRunsIntoItsTotal) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  const auto began = clock.now();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_GE(clock.now() - began, seconds(1200));
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

}  // namespace switchover_scenarios_test
