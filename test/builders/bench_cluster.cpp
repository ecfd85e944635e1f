#include "test/builders/bench_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "api/meta/well_known.hpp"

namespace builders {
namespace {

constexpr std::array<int, 10> kPodsOfNode = {10, 10, 30, 30, 30, 30, 30, 30, 50, 50};  // By node number % 10
constexpr std::int64_t kMebi = std::int64_t{1} << 20;

/// Parameters of pod `number` on node `node`, from which its object is built.
struct BenchPod {
  int number;
  int node;
  int app;
  int step;  ///< 1 to 4, multiplied by 100m cpu and 256Mi memory
  int nodes;

  std::string ns() const { return fmt::format("ns-{:04}", app % (nodes / 20)); }
  std::string name() const { return fmt::format("pod-{:06}", number); }
  std::string node_name() const { return fmt::format("node-{:05}", node); }
  std::string app_name() const { return fmt::format("app-{:05}", app); }
};

template <typename F>
void for_each_bench_pod(int nodes, F&& each) {
  int number = 0;
  for (int node = 0; node < nodes; ++node) {
    for (int i = 0; i < kPodsOfNode[node % 10]; ++i, ++number) {
      const int j = std::max(number % 10 - 1, 0);
      each(BenchPod{number, node, static_cast<int>((9LL * (number / 10) + j) % nodes), 1 + number % 4, nodes});
    }
  }
}

base::TimePoint bench_base_time() { return base::parse_time("2026-01-01T00:00:00Z").value(); }

api::Container container_of(const BenchPod& pod) {
  api::Container container;
  container.name = "main";
  container.image = fmt::format("registry.example/{}:v1", pod.app_name());
  container.requests = {{"cpu", api::Quantity::from_milli(100 * pod.step)},
                        {"memory", api::Quantity::from_units(256 * kMebi * pod.step)}};
  if (pod.number % 6 == 0) container.limits = container.requests;
  return container;
}

api::LabelSelector same_app(const BenchPod& pod) { return {{{"app", api::SelectorOperator::kIn, {pod.app_name()}}}}; }

std::shared_ptr<const api::Affinity> affinity_of(const BenchPod& pod) {
  if (pod.app % 10 != 5) return nullptr;
  api::PodAffinityTerm term;
  term.label_selector = same_app(pod);
  term.topology_key = api::well_known::kHostnameLabel;
  api::Affinity affinity;
  affinity.required_pod_anti_affinity.push_back(std::move(term));
  return std::make_shared<const api::Affinity>(std::move(affinity));
}

api::Pod object_of(const BenchPod& pod) {
  api::Pod object;
  object.meta.ns = pod.ns();
  object.meta.name = pod.name();
  object.meta.uid = fmt::format("10000000-0000-4000-8000-{:012}", pod.number);
  object.meta.creation_timestamp = bench_base_time() + base::seconds(pod.number);
  object.meta.labels = {{"app", pod.app_name()}, {"tier", fmt::format("t{}", pod.number % 3)}};
  object.meta.owner_references.push_back({"apps/v1", "ReplicaSet", fmt::format("rs-{:05}", pod.app),
                                          fmt::format("00000000-0000-4000-8000-{:012}", pod.app), true});
  object.containers.push_back(container_of(pod));
  object.node_name = {pod.node_name()};
  object.priority = pod.number % 3 * 100;
  object.phase = api::PodPhase::kRunning;
  object.start_time = object.meta.creation_timestamp;
  if (pod.app % 4 == 0) {
    api::TopologySpreadConstraint spread;
    spread.topology_key = api::well_known::kZoneLabel;
    spread.label_selector = same_app(pod);
    object.topology_spread.push_back(std::move(spread));
  }
  return object;
}

std::shared_ptr<const api::Node> bench_node(int number) {
  auto node = std::make_shared<api::Node>();
  node->meta.name = fmt::format("node-{:05}", number);
  node->meta.uid = fmt::format("20000000-0000-4000-8000-{:012}", number);
  node->meta.creation_timestamp = bench_base_time();
  node->meta.labels = {{std::string(api::well_known::kHostnameLabel), node->meta.name},
                       {std::string(api::well_known::kZoneLabel), fmt::format("zone-{}", number % 3)}};
  node->capacity = {{"cpu", api::Quantity::from_units(16)},
                    {"memory", api::Quantity::from_units(64 * 1024 * kMebi)},
                    {"pods", api::Quantity::from_units(110)}};
  node->allocatable = node->capacity;
  node->conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", 0, {}});
  return node;
}

}  // namespace

BenchCluster bench_cluster(int nodes) {
  BenchCluster cluster;
  for (int i = 0; i < nodes; ++i) cluster.nodes.push_back(bench_node(i));
  for (int i = 0; i < nodes / 20; ++i) {
    auto ns = std::make_shared<api::Namespace>();
    ns->meta.name = fmt::format("ns-{:04}", i);
    cluster.namespaces.push_back(std::move(ns));
  }
  // Pods of one application share equal affinity and labels, like decoded objects.
  std::map<int, std::shared_ptr<const api::Affinity>> affinities;
  std::map<std::pair<int, int>, api::StringMap> labels;
  for_each_bench_pod(nodes, [&](const BenchPod& pod) {
    auto object = std::make_shared<api::Pod>(object_of(pod));
    object->affinity = affinities.try_emplace(pod.app, affinity_of(pod)).first->second;
    object->meta.labels = labels.try_emplace({pod.app, pod.number % 3}, object->meta.labels).first->second;
    cluster.pods.push_back(std::move(object));
  });
  std::ranges::sort(cluster.pods, {}, [](const auto& pod) { return std::tie(pod->meta.ns, pod->meta.name); });
  return cluster;
}

std::string check_lines(int nodes) {
  static constexpr std::array<std::string_view, 5> kMemory = {"", "256Mi", "512Mi", "768Mi", "1Gi"};
  std::string lines;
  for_each_bench_pod(nodes, [&](const BenchPod& pod) {
    fmt::format_to(std::back_inserter(lines), "{}/{} {} {} {}m {}\n", pod.ns(), pod.name(), pod.node_name(),
                   pod.app_name(), 100 * pod.step, kMemory[pod.step]);
  });
  return lines;
}

}  // namespace builders
