#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/yaml.hpp"
#include "simulator/knobs.hpp"
#include "simulator/objects.hpp"
#include "test/soak/world.hpp"

namespace soak {
namespace {

namespace objects = simulator::objects;
using api::Json;

const std::vector<Json>& definitions() {
  static const std::vector<Json> all = [] {
    std::vector<Json> parsed;
    for (const char* file : {"evacuator.dev_evacuations.yaml", "evacuator.dev_deschedulerpolicies.yaml"}) {
      std::ifstream stream(std::string(EVACUATOR_SOURCE_DIR "/crds/") + file);
      std::stringstream text;
      text << stream.rdbuf();
      auto documents = api::parse_yaml(text.str());
      if (!documents) throw std::runtime_error(documents.error().message);
      for (Json& each : *documents) parsed.push_back(std::move(each));
    }
    return parsed;
  }();
  return all;
}

/// What the operators of handoff pods do; the last ones are up to no good.
const std::vector<std::string> kScripts = {
    "ack=1s, heartbeat=10s, progress=4s, ready=20s, aborted=1s",
    "ack=1s, pre-done=3s, progress=4s, heartbeat=10s, ready=8s, aborted=1s",
    "ack=5s, heartbeat=60s, ready=1800s, aborted=2s",
    "ack=1s, heartbeat=10s, owner-deletes=25s, aborted=1s",
    "ack=1s, heartbeat=10s, ready=5s, revoke=1s, aborted=1s",
    "ack=1s, failed=5s:RetryableBusy:disk full",
    "ack=1s, failed=5s:Broken:no way",
    "ack=1s, heartbeat=10s, ready=20s",  // never confirms an abort
    "",                                  // nobody there
    "ack=1s, heartbeat=10s, ready=20s, aborted=1s, stale-token",
    "ack=1s, heartbeat=10s, ready=20s, answers-after-abort, skew=-10m",
    "ack=1s, heartbeat=10s, unchanged-heartbeat, aborted=1s",
    "ack=1s, heartbeat=10s, ready=20s, silent-after=ack, skew=10m",
};
const std::vector<std::string> kBackground = {"move=10s", "fail=5s", "silent"};

}  // namespace

void World::furnish() {
  for (const Json& each : definitions()) {
    const auto done = server_->install_crd(each);
    if (!done) throw std::runtime_error(done.error().message);
  }
  add(objects::name_space("shop"));
  const auto nodes = dice_.between(2, 5);
  for (int i = 0; i < nodes; ++i) {
    add(objects::node(fmt::format("node-{}", i), "4", "8Gi",
                      {{"topology.kubernetes.io/zone", i % 2 == 0 ? "east" : "west"}}));
  }
  const auto workloads = dice_.between(2, 5);
  for (int i = 0; i < workloads; ++i) add_workload(i);
  add_policies();
  cluster_->advance(base::minutes(2));
}

void World::add_workload(int number) {
  const std::string name = fmt::format("app-{}", number);
  const int replicas = static_cast<int>(dice_.between(1, 4));
  Json workload = dice_.one_in(4) ? objects::stateful_set("shop", name, replicas, "200m", "128Mi")
                                  : objects::deployment("shop", name, replicas, "200m", "128Mi");
  objects::annotate_pods(workload, "example.com/foreign", "untouched");
  if (dice_.one_in(2)) {
    objects::annotate_pods(workload, "handoff.evacuator.dev/mode", dice_.one_in(3) ? "optional" : "required");
    if (dice_.one_in(2)) {
      objects::annotate_pods(workload, "handoff.evacuator.dev/phases",
                             dice_.of<std::string>({"pre,migrate", "migrate", "pre,migrate,post"}));
    }
    objects::annotate_pods(workload, "handoff.evacuator.dev/timeout", "40m");
    const std::string& script = dice_.of(kScripts);
    if (script.find("owner-deletes") != std::string::npos)
      objects::annotate_pods(workload, "handoff.evacuator.dev/evict-by", "owner");
    if (!script.empty()) objects::annotate_pods(workload, simulator::knobs::kHandoff, script);
    tell(fmt::format("{}: {} pods with a handoff: {}", name, replicas, script));
  } else if (dice_.one_in(4)) {
    objects::annotate_pods(workload, "descheduler.alpha.kubernetes.io/request-evict-only", "");
    objects::annotate_pods(workload, simulator::knobs::kBackground, dice_.of(kBackground));
    tell(fmt::format("{}: {} pods that move in the background", name, replicas));
  } else {
    tell(fmt::format("{}: {} plain pods", name, replicas));
  }
  if (dice_.one_in(5)) objects::annotate_pods(workload, simulator::knobs::kStopSeconds, "25");
  add(std::move(workload));
  if (dice_.one_in(2)) add(objects::pdb_min_available("shop", name, name, dice_.between(0, replicas)));
}

void World::add_policies() {
  if (dice_.one_in(2)) return;
  Json policy = Json::parse(R"({"apiVersion": "evacuator.dev/v1alpha1", "kind": "DeschedulerPolicy",
    "metadata": {"name": "old-pods"}, "spec": {"mode": "Automatic", "strategies": [{"name": "PodLifeTime"}]}})");
  Json& spec = policy["spec"];
  spec["schedule"]["interval"] = fmt::format("{}s", dice_.between(30, 600));
  spec["limits"]["perCycle"]["total"] = dice_.between(1, 5);
  spec["strategies"][0]["args"]["maxPodLifeTimeSeconds"] = dice_.between(60, 1200);
  if (dice_.one_in(3)) spec["limits"]["inFlight"]["total"] = dice_.between(1, 3);
  const auto answer = server_->handle(kube::create_request(kube::kPolicies, "", policy), {"alice", {}, "kubectl"});
  if (answer.status != 201) throw std::runtime_error("the policy was refused: " + answer.body);
  tell("policy: " + spec.dump());
}

}  // namespace soak
