#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "evictors/document.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "test/unit/evictors/objects.hpp"

/// A PostgreSQL cluster of each adapter, as its operator stores it, and one step of the Evacuation of a member.
namespace handoff_switchover_fixture {

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
inline void PrintTo(const Flavour& flavour, std::ostream* out) { *out << flavour.adapter; }

inline const Flavour kCnpg{"cloudnative-pg", "cnpg.io/cluster", "cnpg.io/instanceRole", "primary", "cluster"};
inline const Flavour kPatroni{"patroni", "cluster-name", "spilo-role", "master", ""};
inline const Flavour kEdb{"cloudnative-pg", "k8s.enterprisedb.io/cluster", "k8s.enterprisedb.io/instanceRole",
                          "primary", "cluster"};
inline const Flavour kPgo{"pgo", "postgres-operator.crunchydata.com/cluster", "postgres-operator.crunchydata.com/role",
                          "master", "postgrescluster"};

inline Json instance(const std::string& name, const std::string& node, const std::string& role, const Flavour& flavour,
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

inline Json cluster_of(const Flavour& flavour, const std::string& current, const std::string& target) {
  Json object = {{"kind", "Cluster"},
                 {"metadata", {{"name", "pg"}, {"uid", "cluster-uid"}, {"resourceVersion", "77"}}}};
  if (std::string(flavour.adapter) == "cloudnative-pg") {
    object["status"] = {{"currentPrimary", current}, {"targetPrimary", target}, {"phase", "Cluster in healthy state"}};
  } else {
    object["spec"]["patroni"]["switchover"]["enabled"] = true;
  }
  return object;
}

inline Document key(const std::string& name, Json annotations) {
  return {"patroni/" + name, 200, Json{{"metadata", {{"annotations", std::move(annotations)}}}}.dump()};
}
inline Document no_key(const std::string& name) { return {"patroni/" + name, 404, "{}"}; }

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

inline std::string chosen(World& world) {
  const auto plan = StatefulHandoff().plan(world.look());
  if (!plan.action) return "";
  const Json body = Json::parse(plan.action->request.body);
  return body.contains("candidate") ? body["candidate"] : body["status"]["targetPrimary"];
}

/// Patroni's keys for a cluster with the given leader.
inline std::vector<Document> keys(const std::string& leader, const Json& config = {{"loop_wait", 10}}) {
  return {key("leader-endpoints", {{"leader", leader}, {"ttl", "30"}}), key("config", {{"config", config.dump()}}),
          no_key("sync"), no_key("failover")};
}

}  // namespace handoff_switchover_fixture
