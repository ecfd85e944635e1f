#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "test/bench/real/connection.hpp"

/// An idle cluster without kubelets and controllers: only the measured descheduler changes it.
namespace bench {
namespace {

using api::Json;

constexpr int kWorkloads = 50;
constexpr std::size_t kThreads = 16;
constexpr const char* kLongAgo = "2026-01-01T00:00:00Z";

std::string node_name(int i) { return fmt::format("node-{:05}", i); }
std::string workload_name(int i) { return fmt::format("rs-{}", i % kWorkloads); }

Json node_status() {
  const Json capacity = {{"cpu", "16"}, {"memory", "64Gi"}, {"pods", "250"}};
  const Json ready = {{"type", "Ready"},
                      {"status", "True"},
                      {"reason", "KubeletReady"},
                      {"message", ""},
                      {"lastHeartbeatTime", kLongAgo},
                      {"lastTransitionTime", kLongAgo}};
  return {{"status", {{"capacity", capacity}, {"allocatable", capacity}, {"conditions", Json::array({ready})}}}};
}

void make_node(Connection& connection, int i) {
  const std::string name = node_name(i);
  connection.create(
      kube::kNodes, "",
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata",
        {{"name", name},
         {"labels", {{"kubernetes.io/hostname", name}, {"topology.kubernetes.io/zone", fmt::format("z{}", i % 3)}}}}}});
  connection.patch(kube::kNodes, {"", name}, node_status(), "status");
  // removes the not-ready taint, which the server adds
  connection.patch(kube::kNodes, {"", name}, {{"spec", {{"taints", nullptr}}}});
}

/// With zero replicas, no Evacuation waits for a replacement, which would never be created.
void make_workload(Connection& connection, int i) {
  const Json labels = {{"app", fmt::format("app-{}", i)}};
  connection.create(kube::kReplicaSets, "default",
                    {{"apiVersion", "apps/v1"},
                     {"kind", "ReplicaSet"},
                     {"metadata", {{"name", workload_name(i)}}},
                     {"spec",
                      {{"replicas", 0},
                       {"selector", {{"matchLabels", labels}}},
                       {"template",
                        {{"metadata", {{"labels", labels}}},
                         {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "app"}}})}}}}}}}});
}

Json container() {
  Json environment = Json::array();
  for (int k = 0; k < 10; ++k)
    environment.push_back({{"name", fmt::format("E{}", k)}, {"value", std::string(20, 'v')}});
  return {{"name", "c"},
          {"image", "registry.example/app:1.0"},
          {"env", std::move(environment)},
          {"resources", {{"requests", {{"cpu", "100m"}, {"memory", "256Mi"}}}}}};
}

Json pod_of(int node, int j, const std::string& name, const std::string& workload_uid) {
  const Json owner = {{"apiVersion", "apps/v1"},
                      {"kind", "ReplicaSet"},
                      {"name", workload_name(j)},
                      {"uid", workload_uid},
                      {"controller", true}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", name},
            {"labels", {{"app", fmt::format("app-{}", j % kWorkloads)}, {"pod-template-hash", "abc123"}}},
            {"ownerReferences", Json::array({owner})}}},
          {"spec",
           {{"nodeName", node_name(node)},
            {"automountServiceAccountToken", false},
            {"terminationGracePeriodSeconds", 0},
            {"containers", Json::array({container()})}}}};
}

Json running() {
  return {{"status",
           {{"phase", "Running"},
            {"startTime", kLongAgo},
            {"conditions",
             Json::array({{{"type", "Ready"}, {"status", "True"}}, {{"type", "PodScheduled"}, {"status", "True"}}})}}}};
}

int pods_of(int node, int nodes, int per_node) {
  if (node < nodes / 3) return 2 * per_node;
  return node >= nodes - nodes / 3 ? 0 : per_node;
}

struct Missing {
  int node;
  int j;
  std::string name;
};

std::set<std::string> names_of(const std::vector<api::ObjectMeta>& all) {
  std::set<std::string> names;
  for (const auto& each : all) names.insert(each.name);
  return names;
}

}  // namespace

void fill(Connection& connection, int nodes, int pods_per_node) {
  const auto started = std::chrono::steady_clock::now();
  connection.create(kube::ResourceType{"", "v1", "serviceaccounts", "ServiceAccount"}, "default",
                    {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
  const auto known_nodes = names_of(connection.list(kube::kNodes));
  in_parallel(kThreads, static_cast<std::size_t>(nodes), [&](std::size_t i) {
    if (!known_nodes.contains(node_name(static_cast<int>(i)))) make_node(connection, static_cast<int>(i));
  });
  for (int i = 0; i < kWorkloads; ++i) make_workload(connection, i);
  std::map<std::string, std::string> uids;
  for (const auto& each : connection.list(kube::kReplicaSets, "default")) uids[each.name] = each.uid;
  const auto known = names_of(connection.list(kube::kPods, "default"));
  std::vector<Missing> missing;
  for (int node = 0; node < nodes; ++node) {
    for (int j = 0; j < pods_of(node, nodes, pods_per_node); ++j) {
      std::string name = fmt::format("p-{:05}-{:03}", node, j);
      if (!known.contains(name)) missing.push_back({node, j, std::move(name)});
    }
  }
  in_parallel(kThreads, missing.size(), [&](std::size_t i) {
    const Missing& pod = missing[i];
    connection.create(kube::kPods, "default", pod_of(pod.node, pod.j, pod.name, uids.at(workload_name(pod.j))));
    connection.patch(kube::kPods, {"default", pod.name}, running(), "status");
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  fmt::print(stderr, "{} nodes, {} pods, {} of them new, in {:.0f} s\n", nodes, known.size() + missing.size(),
             missing.size(), took.count());
}

void clean(Connection& connection) {
  const auto all = connection.list(kube::kEvacuations);
  in_parallel(kThreads, all.size(), [&](std::size_t i) {
    (void)connection.client().remove(kube::kEvacuations, all[i].key(), all[i].uid);
    (void)connection.client().patch(kube::kEvacuations, all[i].key(), kube::PatchType::kMerge,
                                    {{"metadata", {{"finalizers", nullptr}}}});
  });
}

void loop(const std::string& kubeconfig, int connections, int count) {
  Connection connection(kubeconfig, connections);
  const auto discovery = kube::discover(connection.client());
  if (!discovery) die(discovery.error().message);
  auto pods = connection.list(kube::kPods, "default");
  if (pods.size() < static_cast<std::size_t>(count)) die("too few pods");
  pods.resize(static_cast<std::size_t>(count));
  std::atomic<int> granted = 0;
  const auto started = std::chrono::steady_clock::now();
  in_parallel(static_cast<std::size_t>(connections), pods.size(), [&](std::size_t i) {
    kube::EvictionOptions options;
    options.uid = pods[i].uid;
    const auto answer =
        connection.client().send(kube::eviction_request(pods[i].key(), options, discovery->eviction_version));
    if (answer && answer->status / 100 == 2) ++granted;
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  if (granted != count) die(fmt::format("{} of {} evictions were granted", granted.load(), count));
  fmt::print("{{\"program\":\"bare loop, {} connections\",\"evictions_per_s\":{:.1f}}}\n", connections,
             count / took.count());
}

}  // namespace bench
