/// evacuator_bench_cluster: a large simulated cluster in a separate process, over plain HTTP. Pods have the form of a
/// real API server's (pod_json.hpp) and are spread over the nodes like in the cycle benchmark. Only the handoff
/// operator runs; nothing else changes. Usage:
///   evacuator_bench_cluster FOLDER NODES HANDOFFS
/// HANDOFFS additional pods acknowledge a handoff request and never become ready. Writes FOLDER/kubeconfig, then prints
/// "ready". Commands on stdin: "evacuate" creates an Evacuation for each handoff pod and prints "done" once all are
/// InProgress.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "api/evacuation.hpp"
#include "api/json/json_access.hpp"
#include "api/json/yaml.hpp"
#include "base/clock.hpp"
#include "cmd/demo/embedded_crds.hpp"
#include "cmd/demo/validators.hpp"
#include "simulator/api/server.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/cluster.hpp"
#include "simulator/http_server.hpp"
#include "simulator/objects.hpp"
#include "simulator/operators/handoff_script.hpp"
#include "test/bench/pod_json.hpp"
#include "test/builders/bench_cluster.hpp"

namespace {

using api::Json;

constexpr const char* kPolicy = R"(
apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: spread-load}
spec:
  mode: DryRun
  schedule: {interval: 10s}
  evictability: {nodeFit: true}
  strategies:
    - name: LowNodeUtilization
      args: {thresholds: {cpu: 30, memory: 30, pods: 30}, targetThresholds: {cpu: 60, memory: 60, pods: 60}}
  limits: {perCycle: {total: 100}}
)";

[[noreturn]] void die(const std::string& why) {
  std::cerr << "evacuator_bench_cluster: " << why << std::endl;
  std::exit(1);
}

template <typename T>
T need(base::Result<T> result) {
  if (!result) die(result.error().message);
  return *std::move(result);
}

std::string handoff_pod_name(int number) { return fmt::format("handoff-{:05}", number); }

class BigCluster {
 public:
  BigCluster()
      : store_(clock_, 1),
        server_(store_),
        events_(store_, false),
        handoffs_(simulator::make_handoff_operator(store_, events_, {})),
        http_(server_, {.handler_threads = 16}) {
    for (const std::string_view yaml : cmd::embedded_crds()) {
      for (const Json& document : need(api::parse_yaml(yaml))) (void)need(server_.install_crd(document));
    }
    cmd::add_validators(server_);
    add(simulator::objects::name_space("default"));
  }

  void add(Json object) {
    const auto type = simulator::resource_type_of(object);
    if (!type) die("unknown kind");
    simulator::complete(store_, *type, object);
    (void)need(store_.create(*type, std::move(object)));
  }

  /// Creates the cluster of the cycle benchmark, with pods of realistic size. Large clusters omit what the operator
  /// drops while decoding (managedFields, environment), because 150,000 complete pods would take 9 GB in this process.
  void fill(int nodes) {
    lean_ = nodes > 1000;
    const auto cluster = builders::bench_cluster(nodes);
    for (const auto& ns : cluster.namespaces) add(simulator::objects::name_space(ns->meta.name));
    for (const auto& node : cluster.nodes)
      add(simulator::objects::node(node->meta.name, "16", "64Gi", node->meta.labels));
    for (const auto& pod : cluster.pods) {
      const std::string app = pod->meta.labels.value("app");
      const int step = 1 + std::stoi(pod->meta.name.substr(4)) % 4;  // sizes of bench_cluster
      add(with_kind(bench::pod_json({.number = static_cast<int>(count_++),
                                     .ns = pod->meta.ns,
                                     .name = pod->meta.name,
                                     .app = app,
                                     .node = pod->node_name.value,
                                     .cpu = fmt::format("{}m", 100 * step),
                                     .memory = fmt::format("{}Mi", 256 * step)})));
    }
    const auto policy = need(api::parse_yaml(kPolicy));
    (void)need(store_.create(kube::kPolicies, policy.front()));
  }

  void add_handoff_pods(int count) {
    handoff_pods_ = count;
    for (int i = 0; i < count; ++i) {
      Json pod = with_kind(bench::pod_json({.number = static_cast<int>(count_++),
                                            .ns = "default",
                                            .name = handoff_pod_name(i),
                                            .app = "moves",
                                            .node = "node-00000"}));
      pod["metadata"].erase("ownerReferences");
      pod["metadata"]["annotations"]["handoff.evacuator.dev/mode"] = "required";
      pod["metadata"]["annotations"][std::string(simulator::behaviour::kHandoff)] = "ack=0s";
      add(std::move(pod));
    }
  }

  void serve(const std::string& folder) {
    (void)need(http_.start());
    std::ofstream(folder + "/kubeconfig") << http_.kubeconfig();
    if (handoff_pods_ > 0) actor_ = std::jthread([this](std::stop_token stop) { answer_handoffs(stop); });
  }

  void evacuate() {
    for (int i = 0; i < handoff_pods_; ++i) {
      api::Evacuation evacuation;
      evacuation.meta.ns = "default";
      evacuation.meta.name = evacuation.spec.pod_ref.name = handoff_pod_name(i);
      Json object = api::encode_evacuation(evacuation);
      (void)need(store_.create(kube::kEvacuations, std::move(object)));
    }
    while (!all_in_progress()) std::this_thread::sleep_for(base::milliseconds(200));
  }

 private:
  Json with_kind(const std::string& text) const {
    Json pod = Json::parse(text);
    if (lean_) {
      pod["metadata"].erase("managedFields");
      pod["spec"]["containers"][0].erase("env");
    }
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    return pod;
  }

  void answer_handoffs(std::stop_token stop) {
    while (!stop.stop_requested()) {
      const std::uint64_t seen = store_.revision();
      while (handoffs_->tick(clock_.now())) {
      }
      (void)store_.wait_past(seen, base::milliseconds(100));
    }
  }

  bool all_in_progress() const {
    for (const auto& each : store_.list(kube::kEvacuations)) {
      if (api::text_at(*each, {"status", "phase"}) != "InProgress") return false;
    }
    return true;
  }

  base::SystemClock clock_;
  simulator::Store store_;
  simulator::ApiServer server_;
  simulator::EventRecorder events_;
  std::unique_ptr<simulator::Actor> handoffs_;
  simulator::HttpServer http_;
  std::size_t count_ = 0;
  int handoff_pods_ = 0;
  bool lean_ = false;
  std::jthread actor_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) die("usage: evacuator_bench_cluster FOLDER NODES HANDOFFS");
  BigCluster cluster;
  cluster.fill(std::max(20, std::atoi(argv[2])));
  cluster.add_handoff_pods(std::atoi(argv[3]));
  cluster.serve(argv[1]);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line != "evacuate") die("unknown command \"" + line + "\"");
    cluster.evacuate();
    std::cout << "done" << std::endl;
  }
  return 0;
}
