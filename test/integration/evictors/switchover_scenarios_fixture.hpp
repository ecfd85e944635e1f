#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// Stage of the PostgreSQL adapters of stateful-handoff end to end: CloudNativePG, Patroni under Zalando's operator,
/// PGO.
namespace switchover_scenarios_fixture {

using api::Json;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;

inline const kube::ResourceType kCnpg{"postgresql.cnpg.io", "v1", "clusters", "Cluster"};
inline const kube::ResourceType kEdb{"postgresql.k8s.enterprisedb.io", "v1", "clusters", "Cluster"};
inline const kube::ResourceType kPgo{"postgres-operator.crunchydata.com", "v1beta1", "postgresclusters",
                                     "PostgresCluster"};
inline const kube::ResourceType kPerconaPgo{"upstream.pgv2.percona.com", "v1beta1", "postgresclusters",
                                            "PostgresCluster"};
inline const kube::ResourceType kPerconaPg{"pgv2.percona.com", "v2", "perconapgclusters", "PerconaPGCluster"};
inline const kube::ResourceType kEndpoints{"", "v1", "endpoints", "Endpoints"};
inline const std::string kPgoPrefix = "postgres-operator.crunchydata.com/";

inline Json definition_of(const kube::ResourceType& type) {
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

}  // namespace switchover_scenarios_fixture
