#include <nlohmann/json.hpp>

#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// The PostgreSQL adapters of stateful-handoff from end to end: CloudNativePG, Patroni under Zalando's operator, PGO.
namespace switchover_scenarios_test {

using api::Json;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;

const kube::ResourceType kCnpg{"postgresql.cnpg.io", "v1", "clusters", "Cluster"};
const kube::ResourceType kPgo{"postgres-operator.crunchydata.com", "v1beta1", "postgresclusters", "PostgresCluster"};
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

/// Two instances pg-0 (primary) and pg-1 on two nodes, and whoever switches them over.
class Switchover : public Rig {
 protected:
  void begin(const std::string& role_label, const std::string& primary, const Json& labels) {
    namespace objects = simulator::objects;
    role_label_ = role_label;
    primary_ = primary;
    add(objects::name_space("shop"));
    for (const char* node : {"node-a", "node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    Json set = objects::stateful_set("shop", "pg", 2, "100m", "64Mi");
    Json& on_pods = objects::template_of(set)["metadata"]["labels"];
    on_pods.update(labels);
    on_pods[role_label] = "replica";
    add(std::move(set));
    ASSERT_TRUE(run_until([&] { return pods("pg").size() == 2; }, std::chrono::minutes(2)));
    Json budget = objects::pdb_min_available("shop", "pg-primary", "pg", 1);
    budget["spec"]["selector"] = {{"matchLabels", {{role_label, primary}}}};
    add(std::move(budget));
    promote("pg-0");
    run_for(seconds(60));
    ASSERT_NE(node_of("pg-0"), node_of("pg-1"));
    start_operator();
    replica->transport.before_each_call = [this](const kube::Request& request) {
      if (request.path.ends_with("/pg-0/eviction")) role_when_evicted = role_of("pg-0");
    };
  }
  void cloudnative_pg() {
    begin("cnpg.io/instanceRole", "primary", {{"cnpg.io/cluster", "db"}});
    custom(kCnpg, {{"status", {{"currentPrimary", "pg-0"}, {"targetPrimary", "pg-0"}}}});
  }
  void zalando() { begin("spilo-role", "master", {{"cluster-name", "db"}}); }
  void crunchy(bool enabled) {
    begin(kPgoPrefix + "role", "master", {{kPgoPrefix + "cluster", "db"}, {kPgoPrefix + "instance", "db-1"}});
    custom(kPgo, {{"spec", {{"patroni", {{"switchover", {{"enabled", enabled}}}}}}}});
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
  void set_role(const std::string& pod, const std::string& role) {
    edit(kube::kPods, pod, [&](Json& stored) { stored["metadata"]["labels"][role_label_] = role; });
  }
  void promote(const std::string& pod) {
    for (const char* each : {"pg-0", "pg-1"}) set_role(each, each == pod ? primary_ : "replica");
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

  std::string role_when_evicted;

 private:
  std::string role_label_;
  std::string primary_;
};

// --- CloudNativePG

/// Follows targetPrimary `after` it was set, as that operator does.
class CloudNativePg : public Switchover {
 protected:
  void operator_switches(base::Duration after) {
    watcher = [this, after] {
      const Json status = object(kCnpg, "db").value("status", Json::object());
      const std::string target = status.value("targetPrimary", "");
      if (target == status.value("currentPrimary", "")) since_.reset();
      if (target == status.value("currentPrimary", "")) return;
      if (!since_) since_ = clock.now();
      if (clock.now() < *since_ + after) return;
      promote(target);
      edit(kCnpg, "db", [&](Json& stored) { stored["status"]["currentPrimary"] = target; });
    };
  }
  std::string status(const char* field) const { return object(kCnpg, "db")["status"].value(field, ""); }

 private:
  std::optional<base::TimePoint> since_;
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

TEST_F(CloudNativePg, ACancelSetsTheTargetBack) {
  cloudnative_pg();
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return status("targetPrimary") == "pg-1"; }, seconds(30)));
  run_for(seconds(10));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(CloudNativePg, ASwitchoverThatNeverEndsIsTakenBackAfterItsTotal) {
  cloudnative_pg();
  const std::string name = begin_evacuation();
  const auto began = clock.now();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_GE(clock.now() - began, seconds(600));
  EXPECT_LE(clock.now() - began, seconds(700));
  EXPECT_EQ(status("targetPrimary"), "pg-0");
  EXPECT_EQ(role_of("pg-0"), "primary");
}

TEST_F(CloudNativePg, WithoutAHealthyReplicaNothingIsAsked) {
  cloudnative_pg();
  set_role("pg-1", "unhealthy");
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "NoHealthyReplica");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, AProcessThatDiesAtEachCallLeavesTheSameEnd) {
  cloudnative_pg();
  operator_switches(seconds(20));
  for (int at = 0; at < 14; ++at) {
    SCOPED_TRACE("died at call " + std::to_string(at));
    start_operator("first");
    const std::string name = begin_evacuation();
    replica->transport.die_in(at, at % 2 == 0 ? fakes::Death::kBeforeTheCall : fakes::Death::kAfterTheCall);
    ASSERT_TRUE(run_to_end_over_deaths({name}, std::chrono::hours(1)));
    EXPECT_EQ(reason(name), "Evicted") << get(name).status.message;
    EXPECT_EQ(get(name).status.attempt, 1);
    if (HasFailure()) return;
    run_for(seconds(60));
    promote("pg-0");
    edit(kCnpg, "db", [](Json& stored) { stored["status"] = {{"currentPrimary", "pg-0"}, {"targetPrimary", "pg-0"}}; });
  }
}

// --- Patroni under Zalando's operator

/// Patroni's REST API behind the pod proxy: answers by `script`, and after that switches over.
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

TEST_F(Patroni, ThatNeverCanIsGivenUpInTheEnd) {
  zalando();
  patroni_answers(std::vector<kube::Response>(1000, {412, "no good candidates have been found", {}, ""}));
  expect_end(begin_evacuation(), Phase::kFailed, "BlockedTimeout", "no good candidates");
  EXPECT_TRUE(evictions().empty());
}

/// A service of the operator's configuration that speaks Patroni.
class PatroniService final : public controllers::evacuation::ServiceCaller {
 public:
  evictors::CallResult send(const std::string& service, const kube::Request& request) override {
    calls.push_back(service + " " + request.path);
    if (on_call) on_call();
    return kube::Response{202, "Switchover scheduled", {}, "text/plain"};
  }
  const std::vector<std::string>& names() const override { return names_; }

  std::vector<std::string> calls;
  std::function<void()> on_call;

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
  stop_operator();
}

// --- PGO

class Pgo : public Switchover {
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
  crunchy(true);
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(30)));
  EXPECT_EQ(trigger(), get(name).status.token);
  promote("pg-1");
  run_for(seconds(60));
  EXPECT_TRUE(evictions().empty()) << "the label has moved, but PGO is not through with it";
  through_with(trigger());
  expect_evicted_as_replica(name, "pgo");
}

TEST_F(Pgo, ThatMayNotSwitchOverIsNamedWithTheFix) {
  crunchy(false);
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "spec.patroni.switchover.enabled");
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Pgo, ThatNeverActsRunsIntoItsTotal) {
  crunchy(true);
  const std::string name = begin_evacuation();
  const auto began = clock.now();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_GE(clock.now() - began, seconds(1200));
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

}  // namespace switchover_scenarios_test
