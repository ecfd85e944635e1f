#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/eviction_request/native_eviction.hpp"
#include "simulator/kubevirt/kubevirt.hpp"
#include "simulator/objects.hpp"
#include "simulator/operators/background_protocol.hpp"
#include "simulator/operators/stateful_owners.hpp"
#include "test/soak/world/documents.hpp"
#include "test/soak/world/world.hpp"

namespace soak {
namespace {

namespace objects = simulator::objects;
using api::Json;

/// Read once for all seeds.
const std::vector<Json>& definitions() {
  static const std::vector<Json> all = [] {
    auto parsed = documents_of("crds/evacuator.dev_evacuations.yaml");
    for (Json& each : documents_of("crds/evacuator.dev_deschedulerpolicies.yaml")) parsed.push_back(std::move(each));
    return parsed;
  }();
  return all;
}

Json hook_job(Dice& dice) {
  Json hook = Json::parse(R"({"job": {"template": {"metadata": {"annotations": {}},
    "spec": {"containers": [{"name": "hook", "image": "hook:1"}]}}}})");
  Json& behaviour = hook["job"]["template"]["metadata"]["annotations"];
  behaviour[std::string(simulator::behaviour::kRunSeconds)] =
      std::to_string(dice.between(1, dice.one_in(4) ? 600 : 30));
  behaviour[std::string(simulator::behaviour::kExitCode)] = dice.one_in(4) ? "3" : "0";
  hook["timeoutSeconds"] = dice.between(30, 400);
  hook["retries"] = dice.between(0, 2);
  if (dice.one_in(4)) hook["failurePolicy"] = "Ignore";
  return hook;
}

}  // namespace

void World::add_hooks() {
  Json policy = Json::parse(R"({"apiVersion": "evacuator.dev/v1alpha1", "kind": "DeschedulerPolicy",
    "metadata": {"name": "hooked"},
    "spec": {"mode": "Automatic", "evacuation": {"evictors": [{"name": "stateful-handoff"}]}}})");
  for (const char* point : {"pre", "migrate", "post", "undo"}) {
    if (!dice_.one_in(3)) policy["spec"]["evacuation"]["hooks"][point] = hook_job(dice_);
  }
  const auto answer = server_->handle(kube::create_request(kube::kPolicies, "", policy), {"alice", {}, "kubectl"});
  if (answer.status != 201) throw std::runtime_error("the hooks were refused: " + answer.body);
  hooks_ = true;
  tell("hooks: " + policy["spec"].dump());
}

void World::furnish() {
  for (const Json& each : definitions()) {
    const auto done = server_->install_crd(each);
    if (!done) throw std::runtime_error(done.error().message);
  }
  install_owners();
  add(objects::name_space("shop"));
  const std::string version = dice_.of<std::string>({"v1.7.0", "v1.8.2", "v1.6.0", "v1.4.0"});
  add(objects::kubevirt(version, dice_.one_in(3) ? "LiveMigrate" : ""));
  tell("KubeVirt " + version);
  const auto nodes = dice_.between(2, 5);
  for (int i = 0; i < nodes; ++i) {
    add(objects::node(fmt::format("node-{}", i), "4", "8Gi",
                      {{"topology.kubernetes.io/zone", i % 2 == 0 ? "east" : "west"}}));
  }
  const auto workloads = dice_.between(2, 5);
  for (int i = 0; i < workloads; ++i) add_workload(i);
  places_pods_ = !dice_.one_in(3);
  allows_required_ = dice_.one_in(2);
  if (places_pods_) add_placement_webhook();
  add_policies();
  if (dice_.one_in(2)) add_hooks();
  cluster_->advance(base::minutes(2));
}

/// Installs the other controllers: owners of stateful workloads, KubeVirt, and optionally the EvictionRequest API.
void World::install_owners() {
  server_->add_webhook(simulator::background_webhook(cluster_->store()));
  simulator::add_stateful_owners(*cluster_, *server_);
  auto databases = std::make_unique<PostgresOperators>(cluster_->store());
  databases_ = databases.get();
  cluster_->add_actor(std::move(databases));
  PostgresOperators::serve(*server_, *databases_);
  const auto installed = simulator::kubevirt::install(*cluster_, *server_);
  if (!installed) throw std::runtime_error(installed.error().message);
  draft_names_ = dice_.one_in(4);
  native_served_ = !dice_.one_in(3);
  const simulator::eviction_request::Options native{.draft_names = draft_names_};
  const bool alive = native_served_ && !dice_.one_in(3);
  if (native_served_) simulator::eviction_request::serve(*server_, native);
  if (alive)
    simulator::eviction_request::run(*cluster_, *server_, native, {std::string(api::well_known::kNativeResponder)});
  tell(fmt::format("native eviction API: {}", alive ? "alive" : native_served_ ? "nobody works on it" : "not served"));
}

void World::add_placement_webhook() {
  for (const Json& each : documents_of("config/placement-webhook/webhook.yaml")) {
    const kube::ResourceType type{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                  "MutatingWebhookConfiguration", false};
    const auto answer = server_->handle(kube::create_request(type, "", each), {"admin", {}, "kubectl"});
    if (answer.status != 201) throw std::runtime_error("the webhook was refused: " + answer.body);
  }
  tell(fmt::format("the placement webhook is installed{}", allows_required_ ? ", hints may bind" : ""));
}

void World::add_policies() {
  if (dice_.one_in(2))
    add_policy("old-pods", {{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", dice_.between(60, 1200)}}}});
  // The time budget is never reached, whatever the load of the machine, so a seed always gives the same run.
  if (dice_.one_in(2)) add_policy("defragment", {{"name", "Defragmentation"}, {"args", {{"timeBudget", "2m"}}}});
}

void World::add_policy(const std::string& name, const Json& strategy) {
  Json spec = {{"mode", "Automatic"}, {"strategies", Json::array({strategy})}};
  spec["schedule"]["interval"] = fmt::format("{}s", dice_.between(30, 600));
  spec["limits"]["perCycle"]["total"] = dice_.between(1, 5);
  if (dice_.one_in(3)) spec["limits"]["inFlight"]["total"] = dice_.between(1, 3);
  if (dice_.one_in(2)) spec["gates"] = Json::array({Gate::entry(dice_)});
  const Json policy = {{"apiVersion", "evacuator.dev/v1alpha1"},
                       {"kind", "DeschedulerPolicy"},
                       {"metadata", {{"name", name}}},
                       {"spec", spec}};
  const auto answer = server_->handle(kube::create_request(kube::kPolicies, "", policy), {"alice", {}, "kubectl"});
  if (answer.status != 201) throw std::runtime_error("the policy was refused: " + answer.body);
  tell("policy: " + spec.dump());
}

}  // namespace soak
