#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/evacuation.hpp"
#include "kube/kubevirt.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/faults.hpp"
#include "test/soak/world/world.hpp"

namespace soak {
namespace {

using api::Json;
using simulator::FaultEffect;

/// Faults of requests and their maximum probability.
struct Misfortune {
  FaultEffect effect;
  double worst;
};
const std::vector<Misfortune> kMisfortunes = {
    {FaultEffect::kDropRequest, 0.1},     {FaultEffect::kDropResponse, 0.1},  {FaultEffect::kDuplicate, 0.2},
    {FaultEffect::kTooManyRequests, 0.1}, {FaultEffect::kInternalError, 0.1}, {FaultEffect::kUnavailable, 0.1},
    {FaultEffect::kCutWatch, 0.2},        {FaultEffect::kStallWatch, 0.02},   {FaultEffect::kStaleList, 0.1},
    {FaultEffect::kCutAnswer, 0.1},       {FaultEffect::kHoldBookmark, 0.3},  {FaultEffect::kProxyPage, 0.1}};

/// Adds or removes a taint that the operator does not know, and keeps all other taints.
void set_foreign_taint(Json& node, bool is_there) {
  const Json taint = PolicyWatch::foreign_taint();
  Json taints = Json::array();
  for (const Json& each : node["spec"].value("taints", Json::array())) {
    if (each["key"] != taint["key"]) taints.push_back(each);
  }
  if (is_there) taints.push_back(taint);
  node["spec"]["taints"] = std::move(taints);
}

}  // namespace

void World::disturb() {
  switch (dice_.below(18)) {
    case 0:
    case 1:
    case 2:
    case 3: return make_evacuation();
    case 4: return change_an_evacuation();
    case 5: return change_a_pod();
    case 6: return change_a_workload();
    case 7:
    case 13: return change_a_node();
    case 8: return change_the_server();
    case 9: return change_a_machine();
    case 10: return tell(mover_->change_mood(dice_));
    case 11: return change_the_hooks();
    case 12: return ask_natively();
    case 14: return tell(gate_->change_mood(dice_));
    case 15: return tell(placer_.change_mood(dice_));
    case 16: return change_the_clock();
    default: return change_the_replicas();
  }
}

void World::change_a_pod() {
  const auto key = any(kube::kPods, "shop");
  if (!key) return;
  switch (dice_.below(5)) {
    case 0:
      as_user(kube::delete_request(kube::kPods, *key, ""));
      tell("delete pod " + key->name);
      return;
    case 1:
      edit(kube::kPods, *key, [](Json& pod) { pod["metadata"]["finalizers"] = Json::array({"example.com/hold"}); });
      tell("a finalizer on pod " + key->name);
      return;
    case 2: edit(kube::kPods, *key, [](Json& pod) { pod["metadata"].erase("finalizers"); }); return;
    case 3: return replay_old_words(*key);
    default:
      edit(kube::kPods, *key, [](Json& pod) {
        Json& meta = pod["metadata"];
        if (meta.contains("annotations")) meta["annotations"].erase("handoff.evacuator.dev/request");
      });
      invariants_->calls().forgive();
      tell("somebody takes the request off pod " + key->name);
  }
}

/// Writes an answer with the token of a previous attempt or of another Evacuation to the pod.
void World::replay_old_words(const api::ObjectKey& pod) {
  const auto evacuation = any(kube::kEvacuations);
  const auto object = evacuation ? cluster_->store().get(kube::kEvacuations, *evacuation) : nullptr;
  if (!object) return;
  const std::string token = fmt::format("{}.{}", (*object)["metadata"].value("uid", ""), dice_.between(0, 12));
  const auto current = api::decode_evacuation(*object);
  if (!current || current->status.token == token) return;
  const std::string word = dice_.of<std::string>({"ready-to-evict", "ack", "aborted", "failed", "pre-done"});
  const std::string value = word == "failed" ? token + ":RetryableOld:an old story" : token;
  edit(kube::kPods, pod, [&](Json& each) { each["metadata"]["annotations"]["handoff.evacuator.dev/" + word] = value; });
  tell(fmt::format("old word on pod {}: {}={}", pod.name, word, value));
}

void World::change_a_machine() {
  const auto vmi = any(kube::kVmis, "shop");
  if (!vmi) return;
  const auto migration = any(kube::kVmims, "shop");
  switch (dice_.below(5)) {
    case 0: as_user(kube::delete_request(kube::kVmis, *vmi, "")); return tell("delete VM " + vmi->name);
    case 1:
      as_user(kube::create_request(kube::kVmims, "shop",
                                   {{"apiVersion", "kubevirt.io/v1"},
                                    {"kind", "VirtualMachineInstanceMigration"},
                                    {"metadata", {{"name", fmt::format("by-alice-{}", ++requests_)}}},
                                    {"spec", {{"vmiName", vmi->name}}}}));
      return tell("a person migrates VM " + vmi->name);
    case 2:
      edit(kube::kVmis, *vmi, [](Json& object) {
        if (object.contains("status")) object["status"].erase("evacuationNodeName");
      });
      return tell("somebody clears the mark of VM " + vmi->name);
    default:
      if (!migration) return;
      as_user(kube::delete_request(kube::kVmims, *migration, ""));
      invariants_->calls().forgive();
      tell("delete migration " + migration->name);
  }
}

/// Changes hooks or deletes their policy while Evacuations use them.
void World::change_the_hooks() {
  const api::ObjectKey policy{"", "hooked"};
  if (!hooks_ || !cluster_->store().get(kube::kPolicies, policy)) return;
  const auto job = any(kube::kJobs, "shop");
  if (job && dice_.one_in(2)) {
    as_user(kube::delete_request(kube::kJobs, *job, ""));
    invariants_->calls().forgive();
    return tell("delete job " + job->name);
  }
  if (dice_.one_in(3)) {
    as_user(kube::delete_request(kube::kPolicies, policy, ""));
    return tell("delete the policy with the hooks");
  }
  const std::string point = dice_.of<std::string>({"pre", "migrate", "post", "undo"});
  edit(kube::kPolicies, policy, [&](Json& each) {
    Json& evacuation = each["spec"]["evacuation"];
    if (evacuation.contains("hooks")) evacuation["hooks"].erase(point);
  });
  tell("no hook any more: " + point);
}

void World::change_a_workload() {
  const auto key = any(kube::kDeployments, "shop");
  if (!key) return;
  if (dice_.one_in(2)) {
    const auto replicas = dice_.between(0, 5);
    const auto object = cluster_->store().get(kube::kDeployments, *key);
    // Setting the current count changes nothing in the API, so the operator cannot see that it was set.
    if ((*object)["spec"]["replicas"] == replicas) return;
    edit(kube::kDeployments, *key, [&](Json& each) { each["spec"]["replicas"] = replicas; });
    invariants_->expect_replicas(*key, replicas);
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
  const bool on = dice_.one_in(2);
  switch (dice_.below(4)) {
    case 0:
      edit(kube::kNodes, *key, [&](Json& node) { node["spec"]["unschedulable"] = on; });
      return tell(fmt::format("node {} {}", key->name, on ? "is cordoned" : "takes pods"));
    case 1:
      edit(kube::kNodes, *key, [&](Json& node) { set_foreign_taint(node, on); });
      invariants_->policies().expect_taint(key->name, on);
      return tell(fmt::format("node {} {} a person's taint", key->name, on ? "has" : "has no more"));
    default: return change_a_kubelet(*key);
  }
}

void World::change_a_kubelet(const api::ObjectKey& key) {
  const std::string annotation(simulator::behaviour::kDead);
  const bool dies = dice_.one_in(3);
  edit(kube::kNodes, key, [&](Json& node) {
    if (dies) {
      node["metadata"]["annotations"][annotation] = "";
    } else if (node["metadata"].contains("annotations")) {
      node["metadata"]["annotations"].erase(annotation);
    }
  });
  if (dies) tell("the kubelet of " + key.name + " dies");
}

void World::change_the_server() {
  if (dice_.one_in(3)) {
    server_->faults().clear();
    recovered_at_ = clock_.now();
    tell("the server recovers");
    return;
  }
  const Misfortune& chosen = dice_.of(kMisfortunes);
  simulator::FaultRule rule;
  rule.effect = chosen.effect;
  rule.user = kOurUser;
  // The limits depend on a guarantee of the API: a list without resourceVersion, such as a new leader's list of
  // Evacuations, is consistent. Stale lists of pods must be harmless.
  if (rule.effect == FaultEffect::kStaleList) rule.resource = "pods";
  rule.probability = chosen.worst * static_cast<double>(1 + dice_.below(4)) / 4;
  server_->faults().add(rule);
  tell(fmt::format("the server: {} with odds {}", to_string(rule.effect), rule.probability));
}

void World::change_the_replicas() {
  if (replicas_.empty()) return;
  if (dice_.one_in(3)) return start_replica();  // a failover: the old leader is fenced and continues as a standby
  const int calls = static_cast<int>(dice_.between(0, 40));
  replicas_.back()->transport.die_in(calls,
                                     dice_.one_in(2) ? fakes::Death::kAfterTheCall : fakes::Death::kBeforeTheCall);
  tell(fmt::format("the leader will die in {} calls", calls));
}

/// Sets the leader's clock ahead, or corrects it.
void World::change_the_clock() {
  if (replicas_.empty()) return;
  base::Duration& step = replicas_.back()->wall.step;
  if (step != base::Duration::zero()) {
    step = {};
    return tell("the leader's clock is set right");
  }
  step = dice_.one_in(2) ? base::Duration(base::minutes(dice_.between(2, 240)))
                         : base::Duration(std::chrono::hours(dice_.between(24, 720)));
  tell(fmt::format("the leader's clock is {} ahead", base::format_duration(step)));
}

/// Ends all faults and repairs nodes and services. The workloads' operators keep their behavior.
void World::calm() {
  tell("calm");
  server_->faults().clear();
  mover_->calm();
  gate_->calm();
  placer_.calm();
  for (const auto& node : cluster_->store().list(kube::kNodes)) {
    edit(kube::kNodes, {"", (*node)["metadata"]["name"]}, [](Json& object) {
      object["spec"].erase("unschedulable");
      if (object["metadata"].contains("annotations"))
        object["metadata"]["annotations"].erase(std::string(simulator::behaviour::kDead));
    });
  }
  for (const auto& policy : cluster_->store().list(kube::kPolicies)) {
    edit(kube::kPolicies, {"", (*policy)["metadata"]["name"]}, [](Json& object) { object["spec"]["suspend"] = true; });
  }
  for (const auto& request : cluster_->store().list(kube::kEvictionRequests, "shop")) {
    const std::string name = (*request)["metadata"]["name"];
    if (name.starts_with("alice-")) withdraw({"shop", name});
  }
  start_replica();
}

}  // namespace soak
