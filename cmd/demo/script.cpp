#include "cmd/demo/script.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/objects.hpp"

namespace cmd {
namespace {

namespace objects = simulator::objects;
using api::Json;
using base::Done;
using base::milliseconds;
using base::Status;

Status create(kube::Client& admin, const Json& object) {
  const auto type = simulator::resource_type_of(object);
  if (!type) return base::invalid("the simulated cluster does not support " + object.value("kind", "this"));
  const std::string ns = object.at("metadata").value("namespace", "");
  auto made = admin.create(*type, ns, object);
  if (!made) return made.error().during("creating " + object.at("metadata").value("name", ""));
  return Done{};
}

Status create_all(kube::Client& admin, const std::vector<Json>& all) {
  for (const Json& object : all) {
    if (auto made = create(admin, object); !made) return made;
  }
  return Done{};
}

Status merge(kube::Client& admin, const kube::ResourceType& type, const api::ObjectKey& key, const Json& patch) {
  auto done = admin.patch(type, key, kube::PatchType::kMerge, patch);
  if (!done) return done.error().during("patching " + key.to_string());
  return Done{};
}

Status cordon(kube::Client& admin, const std::string& node, bool unschedulable) {
  return merge(admin, kube::kNodes, {"", node}, {{"spec", {{"unschedulable", unschedulable}}}});
}

std::string node_name(int number) { return fmt::format("node-{}", number); }

Json demo_node(int number) {
  return objects::node(
      node_name(number), "4", "16Gi",
      {{std::string(api::well_known::kZoneLabel), std::string(1, static_cast<char>('a' + number % 3))}});
}

Json database() {
  Json db = objects::stateful_set("data", "db", 3, "250m", "512Mi");
  objects::annotate_pods(db, api::well_known::kHandoffMode, "required");
  objects::annotate_pods(db, "simulator.evacuator.dev/handoff",
                         "ack=1s, progress=1s, heartbeat=2s, ready=10s, aborted=1s");
  return db;
}

Json policy(const char* mode) {
  return {{"apiVersion", api::well_known::kApiVersion},
          {"kind", "DeschedulerPolicy"},
          {"metadata", {{"name", "balance"}}},
          {"spec",
           {{"mode", mode},
            {"schedule", {{"interval", "30s"}}},
            {"evictability", {{"nodeFit", true}, {"namespaces", {{"include", {"shop"}}}}}},
            {"strategies",
             {{{"name", "LowNodeUtilization"},
               {"args",
                {{"thresholds", {{"cpu", 30}, {"memory", 40}, {"pods", 40}}},
                 {"targetThresholds", {{"cpu", 55}, {"memory", 60}, {"pods", 60}}}}}}}},
            {"limits", {{"perCycle", {{"total", 10}}}}}}}};
}

std::optional<api::Pod> pod_named(kube::Client& admin, const api::ObjectKey& key) {
  const auto text = admin.get(kube::kPods, key);
  if (!text) return std::nullopt;
  auto pod = api::decode_pod(*text);
  return pod ? std::optional(*std::move(pod)) : std::nullopt;
}

/// Creates a manual Evacuation for one pod.
Status evacuate(kube::Client& admin, const api::ObjectKey& key, const char* why) {
  const auto pod = pod_named(admin, key);
  if (!pod) return base::Error{base::ErrorCode::kNotFound, "no pod " + key.to_string()};
  const Json wanted = {
      {"apiVersion", api::well_known::kApiVersion},
      {"kind", "Evacuation"},
      {"metadata", {{"name", key.name}, {"namespace", key.ns}}},
      {"spec", {{"podRef", {{"name", key.name}}}, {"reason", why}, {"source", {{"requester", "you"}}}}}};
  auto made = admin.create(kube::kEvacuations, key.ns, wanted);
  if (!made) return made.error().during("creating the Evacuation of " + key.to_string());
  return Done{};
}

Status cancel(kube::Client& admin, const api::ObjectKey& key) {
  return merge(admin, kube::kEvacuations, key,
               {{"spec", {{"cancel", {{"requested", true}, {"reason", "changed my mind"}}}}}});
}

}  // namespace

base::Status create_initial_objects(kube::Client& admin) {
  std::vector<Json> all = {objects::name_space("shop"), objects::name_space("data")};
  for (int number = 1; number <= 6; ++number) all.push_back(demo_node(number));
  if (auto made = create_all(admin, all); !made) return made;
  for (const int fresh : {5, 6}) {
    if (auto done = cordon(admin, node_name(fresh), true); !done) return done;
  }
  return create_all(admin, {objects::deployment("shop", "web", 14, "400m", "512Mi"),
                            objects::deployment("shop", "api", 4, "500m", "1Gi"),
                            objects::deployment("shop", "cart", 6, "400m", "512Mi"), database(),
                            objects::pdb_max_unavailable("shop", "api", "api", 0),
                            objects::pdb_max_unavailable("shop", "web", "web", "25%")});
}

std::vector<ScriptStep> demo_script() {
  const auto nothing = [](kube::Client&) -> Status { return Done{}; };
  return {
      {milliseconds(0),
       "Six nodes; node-5 and node-6 have just been added and are still cordoned, so the other four run all pods.",
       nothing},
      {milliseconds(5000), "The new nodes are uncordoned: kubectl uncordon node-5 node-6",
       [](kube::Client& admin) -> Status {
         if (auto done = cordon(admin, "node-5", false); !done) return done;
         return cordon(admin, "node-6", false);
       }},
      {milliseconds(7000), "A DeschedulerPolicy in mode DryRun reports what it would do, and changes nothing.",
       [](kube::Client& admin) -> Status {
         auto made = admin.create(kube::kPolicies, "", policy("DryRun"));
         if (!made) return made.error().during("creating the policy");
         return Done{};
       },
       "balance"},
      {milliseconds(14000),
       "The plan looks right. mode: Automatic creates one Evacuation per pod; at most five run at a time, two per "
       "node, one per workload.",
       [](kube::Client& admin) {
         return merge(admin, kube::kPolicies, {"", "balance"}, {{"spec", {{"mode", "Automatic"}}}});
       }},
      {milliseconds(24000),
       "The api pod waits: its PodDisruptionBudget allows no disruption. Its owner raises it to 1 …",
       [](kube::Client& admin) {
         return merge(admin, kube::kPdbs, {"shop", "api"}, {{"spec", {{"maxUnavailable", 1}}}});
       }},
      {milliseconds(34000),
       "Now a database: db-1 must hand over its primary first. The Evacuation requests that, the database's operator "
       "confirms it, and only then the pod is evicted.",
       [](kube::Client& admin) {
         return evacuate(admin, {"data", "db-1"}, "demo: move the database");
       }},
      {milliseconds(54000), "Now db-0, but the Evacuation is cancelled half way: the pod stays as it was.",
       [](kube::Client& admin) {
         return evacuate(admin, {"data", "db-0"}, "demo: to be cancelled");
       }},
      {milliseconds(59000), "kubectl patch evacuation db-0 … spec.cancel.requested=true",
       [](kube::Client& admin) {
         return cancel(admin, {"data", "db-0"});
       }},
      {milliseconds(66000), "The demo is complete; `kubectl get evacuations -A` shows the result.", nothing},
  };
}

}  // namespace cmd
