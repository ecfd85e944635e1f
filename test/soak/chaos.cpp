#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/evacuation.hpp"
#include "simulator/faults.hpp"
#include "simulator/knobs.hpp"
#include "test/soak/world.hpp"

namespace soak {
namespace {

using api::Json;
using simulator::FaultEffect;

/// Misfortunes of requests, and the worst odds of each.
struct Misfortune {
  FaultEffect effect;
  double worst;
};
const std::vector<Misfortune> kMisfortunes = {{FaultEffect::kDropRequest, 0.1},     {FaultEffect::kDropResponse, 0.1},
                                              {FaultEffect::kTooManyRequests, 0.1}, {FaultEffect::kInternalError, 0.1},
                                              {FaultEffect::kUnavailable, 0.1},     {FaultEffect::kCutWatch, 0.2},
                                              {FaultEffect::kStallWatch, 0.02},     {FaultEffect::kStaleList, 0.1}};

}  // namespace

void World::disturb() {
  switch (dice_.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3: return make_evacuation();
    case 4: return change_an_evacuation();
    case 5: return change_a_pod();
    case 6: return change_a_workload();
    case 7: return change_a_node();
    case 8: return change_the_server();
    default: return change_the_replicas();
  }
}

void World::make_evacuation() {
  const auto pod = any(kube::kPods, "shop");
  if (!pod) return;
  const auto object = cluster_->store().get(kube::kPods, *pod);
  const std::string uid = (*object)["metadata"]["uid"];
  Json spec = {{"podRef", {{"name", pod->name}}}, {"reason", "soak"}};
  if (!dice_.one_in(4)) spec["podRef"]["uid"] = uid;
  if (dice_.one_in(8)) spec["dryRun"] = true;
  if (dice_.one_in(4)) spec["requireReplacement"] = true;
  if (dice_.one_in(4)) spec["priority"] = dice_.between(-5, 5);
  if (dice_.one_in(3)) spec["onTimeout"] = dice_.of<std::string>({"Cancel", "Fail", "NextEvictor"});
  if (dice_.one_in(3)) spec["holdSlotUntil"] = "ReplacementReady";
  if (dice_.one_in(3)) spec["retry"]["maxAttempts"] = dice_.between(1, 4);
  if (dice_.one_in(3)) spec["timeouts"]["blockedSeconds"] = dice_.between(0, 300);
  if (dice_.one_in(4)) spec["timeouts"]["totalSeconds"] = dice_.between(30, 600);
  if (dice_.one_in(4)) spec["evictors"] = Json::array({{{"name", "annotation"}}, {{"name", "eviction-api"}}});
  const std::string name = dice_.one_in(5) ? fmt::format("wish-{}", ++wishes_) : api::evacuation_name(pod->name, {uid});
  const Json body = {{"apiVersion", "evacuator.dev/v1alpha1"},
                     {"kind", "Evacuation"},
                     {"metadata", {{"name", name}, {"namespace", "shop"}}},
                     {"spec", spec}};
  as_user(kube::create_request(kube::kEvacuations, "shop", body));
  tell("create " + name + " " + spec.dump());
}

void World::change_an_evacuation() {
  const auto key = any(kube::kEvacuations);
  if (!key) return;
  if (dice_.one_in(3)) {
    as_user(kube::delete_request(kube::kEvacuations, *key, ""));
    tell("delete evacuation " + key->name);
    return;
  }
  Json patch;
  patch["spec"]["cancel"] = {{"requested", true}, {"reason", "chance"}};
  as_user(kube::patch_request(kube::kEvacuations, *key, kube::PatchType::kMerge, patch));
  tell("cancel " + key->name);
}

void World::change_a_pod() {
  const auto key = any(kube::kPods, "shop");
  if (!key) return;
  switch (dice_.below(4)) {
    case 0:
      as_user(kube::delete_request(kube::kPods, *key, ""));
      tell("delete pod " + key->name);
      return;
    case 1:
      edit(kube::kPods, *key, [](Json& pod) { pod["metadata"]["finalizers"] = Json::array({"example.com/hold"}); });
      tell("a finalizer on pod " + key->name);
      return;
    case 2: edit(kube::kPods, *key, [](Json& pod) { pod["metadata"].erase("finalizers"); }); return;
    default:
      edit(kube::kPods, *key, [](Json& pod) { pod["metadata"]["annotations"].erase("handoff.evacuator.dev/request"); });
      tell("somebody takes the request off pod " + key->name);
  }
}

void World::change_a_workload() {
  const auto key = any(kube::kDeployments, "shop");
  if (!key) return;
  if (dice_.one_in(2)) {
    const auto replicas = dice_.between(0, 5);
    edit(kube::kDeployments, *key, [&](Json& object) { object["spec"]["replicas"] = replicas; });
    tell(fmt::format("scale {} to {}", key->name, replicas));
    return;
  }
  const auto pdb = any(kube::kPdbs, "shop");
  if (!pdb) return;
  const auto least = dice_.between(0, 4);
  edit(kube::kPdbs, *pdb, [&](Json& object) { object["spec"]["minAvailable"] = least; });
  tell(fmt::format("PDB {} wants {}", pdb->name, least));
}

void World::change_a_node() {
  const auto key = any(kube::kNodes);
  if (!key) return;
  const std::string knob(simulator::knobs::kDead);
  const bool dies = dice_.one_in(3);
  edit(kube::kNodes, *key, [&](Json& node) {
    if (dies) {
      node["metadata"]["annotations"][knob] = "";
    } else if (node["metadata"].contains("annotations")) {
      node["metadata"]["annotations"].erase(knob);
    }
  });
  if (dies) tell("the kubelet of " + key->name + " dies");
}

void World::change_the_server() {
  if (dice_.one_in(3)) {
    server_->faults().clear();
    tell("the server recovers");
    return;
  }
  const Misfortune& chosen = dice_.of(kMisfortunes);
  simulator::FaultRule rule;
  rule.effect = chosen.effect;
  rule.user = kOurUser;
  // The limits rest on what the API promises: a list without resourceVersion, such as a new leader's of the
  // Evacuations, is consistent. Pods from a stale list must do no harm.
  if (rule.effect == FaultEffect::kStaleList) rule.resource = "pods";
  rule.probability = chosen.worst * static_cast<double>(1 + dice_.below(4)) / 4;
  server_->faults().add(rule);
  tell(fmt::format("the server: {} with odds {}", to_string(rule.effect), rule.probability));
}

void World::change_the_replicas() {
  if (replicas_.empty()) return;
  if (dice_.one_in(3)) return start_replica();  // a fail-over: the old leader is fenced and lives on as a standby
  const int calls = static_cast<int>(dice_.between(0, 40));
  replicas_.back()->transport.die_in(calls, dice_.one_in(2));
  tell(fmt::format("the leader will die in {} calls", calls));
}

/// From here on nobody disturbs anything; what was broken is whole again. The workloads' operators stay as they are.
void World::calm() {
  tell("calm");
  server_->faults().clear();
  for (const auto& node : cluster_->store().list(kube::kNodes)) {
    edit(kube::kNodes, {"", (*node)["metadata"]["name"]}, [](Json& object) {
      if (object["metadata"].contains("annotations"))
        object["metadata"]["annotations"].erase(std::string(simulator::knobs::kDead));
    });
  }
  for (const auto& policy : cluster_->store().list(kube::kPolicies)) {
    edit(kube::kPolicies, {"", (*policy)["metadata"]["name"]}, [](Json& object) { object["spec"]["suspend"] = true; });
  }
  start_replica();
}

}  // namespace soak
