#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/evacuation.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "test/soak/world/world.hpp"

namespace soak {
namespace {

using api::Json;

const std::vector<std::string> kEvictors = {"annotation",       "eviction-api", "kubevirt", "stateful-handoff",
                                            "eviction-request", "surge",        "webhook"};

Json entry_of(const std::string& evictor, Dice& dice) {
  Json entry = {{"name", evictor}};
  Json& parameters = entry["parameters"];
  if (evictor == "webhook") parameters["service"] = Mover::kName;
  if (evictor == "surge" && dice.one_in(2)) parameters["when"] = "Always";
  if (evictor == "surge" && dice.one_in(2))
    parameters["mode"] = dice.of<std::string>({"Auto", "ExtraReplica", "RollingRestart"});
  if (evictor == "kubevirt" && dice.one_in(3)) parameters["mode"] = "Migration";
  if (evictor == "kubevirt" && dice.one_in(2)) parameters["remoteFailures"] = std::to_string(dice.between(1, 3));
  if (evictor == "stateful-handoff" && dice.one_in(3)) parameters["request"] = "eviction";
  if (evictor == "stateful-handoff" && !dice.one_in(3)) parameters["switchover"] = "true";
  if (evictor == "eviction-request" && dice.one_in(2)) parameters["livenessSeconds"] = "20";
  if (parameters.is_null()) entry.erase("parameters");
  return entry;
}

/// Signs the object like the operator does for the policy that it names.
void sign(Json& body, base::TimePoint now) {
  const auto made = api::decode_evacuation(body);
  const auto keys = controllers::process_keys().keys();
  if (!made || !keys) return;
  const std::string origin(api::well_known::kOriginAnnotation);
  body["metadata"]["annotations"][origin] =
      controllers::with_origin(*made, keys->current, now).meta.annotations.value(origin);
}

}  // namespace

/// Returns a chain of one to four evictors, mostly with the one that suits the workload first.
Json World::any_chain(const std::string& workload) {
  std::vector<std::string> names = kEvictors;
  for (std::size_t i = names.size() - 1; i > 0; --i) std::swap(names[i], names[dice_.below(i + 1)]);
  names.resize(dice_.below(4) + 1);
  const auto liked = likes_.find(workload);
  if (liked != likes_.end() && !dice_.one_in(4)) {
    std::erase(names, liked->second);
    names.insert(names.begin(), liked->second);
  }
  Json chain = Json::array();
  for (const std::string& name : names) chain.push_back(entry_of(name, dice_));
  return chain;
}

Json World::any_spec() {
  Json spec = {{"reason", "soak"}};
  if (dice_.one_in(8)) spec["dryRun"] = true;
  if (dice_.one_in(4)) spec["requireReplacement"] = true;
  if (dice_.one_in(4)) spec["priority"] = dice_.between(-5, 5);
  if (dice_.one_in(2)) spec["onTimeout"] = dice_.of<std::string>({"Cancel", "Fail", "NextEvictor", "NextEvictor"});
  if (dice_.one_in(3)) spec["holdSlotUntil"] = "ReplacementReady";
  if (dice_.one_in(3)) spec["retry"]["maxAttempts"] = dice_.between(1, 4);
  if (dice_.one_in(3)) spec["timeouts"]["blockedSeconds"] = dice_.between(0, 300);
  if (dice_.one_in(4)) spec["timeouts"]["totalSeconds"] = dice_.between(30, 600);
  if (dice_.one_in(places_pods_ ? 2 : 8)) spec["placement"] = any_hint();
  return spec;
}

/// Returns a hint, mostly a valid one.
Json World::any_hint() {
  const auto node = any(kube::kNodes);
  Json hint = {{"nodeName", node ? node->name : "nowhere"}};
  if (dice_.one_in(3)) hint["expiresAfterSeconds"] = dice_.between(10, 900);
  if (dice_.one_in(allows_required_ ? 3 : 8)) hint["policy"] = "Required";
  return hint;
}

/// Evacuates a pod. For a PodGroup it mostly includes all members, as required for manual Evacuations.
void World::make_evacuation() {
  const auto pod = any(kube::kPods, "shop");
  if (!pod) return;
  Json spec = any_spec();
  const auto object = cluster_->store().get(kube::kPods, *pod);
  const std::string workload = api::text_at(*object, {"metadata", "labels", "app"});
  const bool suits = likes_.contains(workload) && !dice_.one_in(3);
  if (suits || dice_.one_in(4)) spec["evictors"] = any_chain(workload);
  if (hooks_ && dice_.one_in(4)) {
    spec["source"]["policy"] = "hooked";
    spec["evictors"] = Json::array({entry_of("stateful-handoff", dice_)});
  }
  const std::string pod_group = api::text_at(*object, {"metadata", "annotations", "evacuator.dev/group"});
  if (pod_group.empty() || dice_.one_in(5)) return evacuate(*pod, spec);
  for (const auto& each : cluster_->store().list(kube::kPods, "shop")) {
    const bool member = api::text_at(*each, {"metadata", "annotations", "evacuator.dev/group"}) == pod_group;
    if (member) evacuate({"shop", (*each)["metadata"]["name"]}, spec);
  }
}

void World::evacuate(const api::ObjectKey& pod, const Json& wanted) {
  const auto object = cluster_->store().get(kube::kPods, pod);
  const std::string uid = (*object)["metadata"]["uid"];
  Json spec = wanted;
  spec["podRef"] = {{"name", pod.name}};
  if (!dice_.one_in(4)) spec["podRef"]["uid"] = uid;
  const std::string name =
      dice_.one_in(5) ? fmt::format("request-{}", ++requests_) : api::evacuation_name(pod.name, {uid});
  Json body = {{"apiVersion", "evacuator.dev/v1alpha1"},
               {"kind", "Evacuation"},
               {"metadata", {{"name", name}, {"namespace", "shop"}}},
               {"spec", spec}};
  if (const auto target = any(kube::kNodes); target && dice_.one_in(2))
    body["metadata"]["annotations"][std::string(api::well_known::kPredictedTargetAnnotation)] = target->name;
  const bool signs = spec.contains("source") && spec["podRef"].contains("uid") && !dice_.one_in(4);
  if (signs) sign(body, clock_.now());
  as_user(kube::create_request(kube::kEvacuations, "shop", body));
  tell("create " + name + (signs ? " signed " : " ") + spec.dump());
}

/// Requests an eviction through the EvictionRequest API, mostly of pods that name responders.
void World::ask_natively() {
  if (!native_served_) return;
  const auto standing = any(kube::kEvictionRequests, "shop");
  if (standing && standing->name.starts_with("alice-") && dice_.one_in(3)) return withdraw(*standing);
  std::vector<simulator::Object> pods = cluster_->store().list(kube::kPods, "shop");
  if (!dice_.one_in(4))
    std::erase_if(pods, [](const auto& pod) { return !(*pod)["spec"].contains("evictionResponders"); });
  if (pods.empty()) return;
  const Json& meta = (*dice_.of(pods))["metadata"];
  const Json body = {{"apiVersion", kube::kEvictionRequests.api_version()},
                     {"kind", "EvictionRequest"},
                     {"metadata", {{"name", fmt::format("alice-{}", ++requests_)}, {"namespace", "shop"}}},
                     {"spec",
                      {{"target", {{"pod", {{"name", meta["name"]}, {"uid", meta["uid"]}}}}},
                       {draft_names_ ? "requesterName" : "requester", "example.com/alice"},
                       {"intent", "Eviction"}}}};
  as_user(kube::create_request(kube::kEvictionRequests, "shop", body));
  tell("a native request for pod " + meta["name"].get<std::string>());
}

void World::withdraw(const api::ObjectKey& request) {
  if (dice_.one_in(2)) {
    as_user(kube::delete_request(kube::kEvictionRequests, request, ""));
  } else {
    as_user(kube::patch_request(kube::kEvictionRequests, request, kube::PatchType::kMerge,
                                {{"spec", {{"intent", "Withdrawn"}}}}));
  }
  tell("withdraw native request " + request.name);
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

}  // namespace soak
