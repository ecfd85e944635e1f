#include "test/soak/live/live_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "api/evacuation.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "base/sleep.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "test/soak/live/live_replica.hpp"
#include "test/soak/replica.hpp"
#include "test/soak/world/documents.hpp"

namespace soak {
namespace {

namespace objects = simulator::objects;
using api::Json;

constexpr std::size_t kReplicas = 2;
constexpr std::size_t kPeople = 2;
/// Sufficient for slow machines and for sanitizers.
constexpr base::minutes kPatience{5};

simulator::ClusterOptions quick(std::uint64_t seed) {
  return {
      .seed = seed,
      .kubelet = {.start = base::milliseconds(200), .ready = base::milliseconds(200), .stop = base::milliseconds(100)}};
}

}  // namespace

LiveWorld::LiveWorld(std::uint64_t seed)
    : seed_(seed), cluster_(clock_, quick(seed)), server_(cluster_.store(), [&] {
        simulator::ApiServerOptions options{.seed = seed, .track_fields = false};
        options.call_webhook = [this](const simulator::WebhookCall& call) -> base::Result<std::string> {
          const auto said = replicas_[leader_]->op().review_pod(call.body);
          return said ? base::Result<std::string>(*said) : base::invalid("no AdmissionReview");
        };
        return options;
      }()) {
  for (std::size_t i = 0; i < kReplicas; ++i)
    replicas_.push_back(std::make_unique<LiveReplica>(
        server_, clock_, fmt::format("live-{}", i), [this, i] { return leader_ == i; }, gate_holds_));
  furnish();
}

LiveWorld::~LiveWorld() = default;

std::vector<std::string> LiveWorld::run(base::seconds time) {
  std::jthread cluster([this](std::stop_token stop) { cluster_.run(stop); });
  for (auto& replica : replicas_) replica->start();
  replicas_[leader_]->lead();
  {
    std::vector<std::jthread> people;
    for (std::size_t i = 0; i < kPeople; ++i)
      people.emplace_back([this, i](std::stop_token stop) { act(seed_ * kPeople + i, stop); });
    Dice dice(seed_ + 1'000'000);
    for (const auto end = clock_.now() + time; clock_.now() < end;) {
      std::this_thread::sleep_for(base::milliseconds(dice.between(500, 3000)));
      fail_over(dice);
    }
  }
  calm();
  const auto end = clock_.now() + kPatience;
  while (!at_rest() && clock_.now() < end) std::this_thread::sleep_for(base::milliseconds(50));
  if (!at_rest()) violations_.push_back("not everything has ended, or a taint is left");
  for (auto& replica : replicas_) replica->stop();
  cluster.request_stop();
  cluster.join();
  check_journal();
  for (const std::string& failure : cluster_.failures()) violations_.push_back("simulator: " + failure);
  return violations_;
}

void LiveWorld::furnish() {
  for (const char* kind : {"evacuations", "deschedulerpolicies"}) {
    for (const Json& each : documents_of(fmt::format("crds/evacuator.dev_{}.yaml", kind))) {
      const auto done = server_.install_crd(each);
      if (!done) throw std::runtime_error(done.error().message);
    }
  }
  add(objects::name_space("shop"));
  for (int i = 0; i < 5; ++i) add(objects::node(fmt::format("node-{}", i), "4", "8Gi"));
  for (int i = 0; i < 4; ++i) {
    Json workload = objects::deployment("shop", fmt::format("app-{}", i), 4, "200m", "64Mi");
    if (i == 0) {
      objects::annotate_pods(workload, "handoff.evacuator.dev/mode", "required");
      objects::annotate_pods(workload, simulator::behaviour::kHandoff, "ack=1s, heartbeat=1s, ready=1s, aborted=1s");
    }
    add(std::move(workload));
    if (i < 2) add(objects::pdb_min_available("shop", fmt::format("app-{}", i), fmt::format("app-{}", i), 2));
  }
  for (const Json& each : documents_of("config/placement-webhook/webhook.yaml")) {
    const kube::ResourceType type{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                  "MutatingWebhookConfiguration", false};
    if (as_user(kube::create_request(type, "", each)).status != 201)
      throw std::runtime_error("the webhook was refused");
  }
  add_policy("old-pods", {{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 5}}}});
  add_policy("defragment", {{"name", "Defragmentation"}, {"args", {{"timeBudget", "1s"}}}});
}

void LiveWorld::add_policy(const std::string& name, const Json& strategy) {
  Json spec = {{"mode", "Automatic"}, {"strategies", Json::array({strategy})}, {"schedule", {{"interval", "5s"}}}};
  spec["limits"]["perCycle"]["total"] = 4;
  spec["gates"] = Json::array({{{"name", "freeze"}, {"interval", "5s"}, {"webhook", {{"url", "https://gate.test"}}}}});
  const auto answer = as_user(kube::create_request(kube::kPolicies, "",
                                                   {{"apiVersion", "evacuator.dev/v1alpha1"},
                                                    {"kind", "DeschedulerPolicy"},
                                                    {"metadata", {{"name", name}}},
                                                    {"spec", spec}}));
  if (answer.status != 201) throw std::runtime_error("the policy was refused: " + answer.body);
}

void LiveWorld::act(std::uint64_t seed, std::stop_token stop) {
  Dice dice(seed);
  while (base::sleep_unless_stopped(base::milliseconds(dice.between(0, 40)), stop)) act_once(dice);
}

void LiveWorld::act_once(Dice& dice) {
  switch (dice.below(8)) {
    case 0:
    case 1: return evacuate_some_pod(dice);
    case 2: return change_some_evacuation(dice);
    case 3: return delete_some_pod(dice);
    case 4: return change_some_policy(dice);
    case 5: return change_the_server(dice);
    default: return look_around(dice);
  }
}

void LiveWorld::evacuate_some_pod(Dice& dice) {
  const api::ObjectKey pod = any(kube::kPods, dice);
  const api::ObjectKey node = any(kube::kNodes, dice);
  Json spec = {{"podRef", {{"name", pod.name}}}, {"reason", "soak"}, {"retry", {{"maxAttempts", 1}}}};
  if (dice.one_in(2)) spec["placement"] = {{"nodeName", node.name}};
  if (dice.one_in(8)) spec["dryRun"] = true;
  as_user(kube::create_request(kube::kEvacuations, "shop",
                               {{"apiVersion", "evacuator.dev/v1alpha1"},
                                {"kind", "Evacuation"},
                                {"metadata", {{"name", fmt::format("by-hand-{}", ++requests_)}, {"namespace", "shop"}}},
                                {"spec", spec}}));
}

void LiveWorld::change_some_evacuation(Dice& dice) {
  const api::ObjectKey key = any(kube::kEvacuations, dice);
  if (key.name.empty()) return;
  if (dice.one_in(2)) {
    as_user(kube::delete_request(kube::kEvacuations, key, ""));
  } else {
    as_user(kube::patch_request(kube::kEvacuations, key, kube::PatchType::kMerge,
                                {{"spec", {{"cancel", {{"requested", true}}}}}}));
  }
}

void LiveWorld::delete_some_pod(Dice& dice) {
  if (const api::ObjectKey pod = any(kube::kPods, dice); !pod.name.empty())
    as_user(kube::delete_request(kube::kPods, pod, ""));
}

void LiveWorld::change_some_policy(Dice& dice) {
  gate_holds_ = dice.one_in(4);
  as_user(kube::patch_request(kube::kPolicies, any(kube::kPolicies, dice), kube::PatchType::kMerge,
                              {{"spec", {{"limits", {{"perCycle", {{"total", dice.between(1, 6)}}}}}}}}));
}

void LiveWorld::change_the_server(Dice& dice) {
  using simulator::FaultEffect;
  if (dice.one_in(2)) return server_.faults().clear();
  simulator::FaultRule rule;
  rule.effect = dice.of<FaultEffect>(
      {FaultEffect::kDropResponse, FaultEffect::kInternalError, FaultEffect::kCutWatch, FaultEffect::kDuplicate});
  rule.user = kOurUser;
  rule.probability = 0.05;
  server_.faults().add(rule);
}

/// Reads what probes, scrapes and the API server's webhooks read while the operator works.
void LiveWorld::look_around(Dice& dice) {
  LiveReplica& replica = *replicas_[dice.below(replicas_.size())];
  (void)replica.op().ready();
  (void)replica.op().alive();
  (void)replica.metrics().render();
  (void)replica.op().review_pod("{}");
}

void LiveWorld::fail_over(Dice& dice) {
  if (!dice.one_in(3)) return;
  replicas_[leader_]->step_down();
  leader_ = (leader_ + 1) % replicas_.size();
  replicas_[leader_]->lead();
}

void LiveWorld::calm() {
  server_.faults().clear();
  gate_holds_ = false;
  for (const char* policy : {"old-pods", "defragment"})
    as_user(kube::delete_request(kube::kPolicies, {"", policy}, ""));
}

/// Cancels unfinished Evacuations. Returns true once all have ended.
bool LiveWorld::at_rest() {
  bool all = true;
  for (const auto& object : cluster_.store().list(kube::kEvacuations)) {
    const auto evacuation = api::decode_evacuation(*object);
    if (!evacuation || (api::is_terminal(evacuation->status.phase) && evacuation->meta.finalizers.empty())) continue;
    all = false;
    if (!evacuation->spec.cancel.requested)
      as_user(kube::patch_request(kube::kEvacuations, evacuation->meta.key(), kube::PatchType::kMerge,
                                  {{"spec", {{"cancel", {{"requested", true}}}}}}));
  }
  for (const auto& node : cluster_.store().list(kube::kNodes)) {
    for (const Json& taint : api::items_at(*node, {"spec", "taints"}))
      all &= !api::well_known::is_soft_taint(api::text_at(taint, {"key"}));
  }
  return all;
}

/// Checks I2 and I4 over the complete run.
void LiveWorld::check_journal() {
  std::map<std::string, int> granted;
  for (const auto& entry : server_.journal().entries()) {
    if (entry.user != kOurUser || entry.resource != "pods" || entry.dry_run) continue;
    if (entry.verb.starts_with("delete")) violations_.push_back("I2: we deleted pod " + entry.key.name);
    if (entry.subresource == "eviction" && entry.code == 201) ++granted[entry.uid];
  }
  if (granted.empty()) violations_.push_back("nothing was evicted: this run shows nothing");
}

api::ObjectKey LiveWorld::any(const kube::ResourceType& type, Dice& dice) {
  const bool is_namespaced = type.plural != kube::kNodes.plural && type.plural != kube::kPolicies.plural;
  const auto all = cluster_.store().list(type, is_namespaced ? "shop" : "");
  if (all.empty()) return {};
  const Json& meta = (*dice.of(all))["metadata"];
  return {meta.value("namespace", ""), meta.value("name", "")};
}

kube::Response LiveWorld::as_user(const kube::Request& request) {
  return server_.handle(request, {"alice", {}, "kubectl"});
}

void LiveWorld::add(Json object) {
  const auto added = cluster_.add(std::move(object));
  if (!added) throw std::runtime_error(added.error().message);
}

}  // namespace soak
