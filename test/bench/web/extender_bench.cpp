#include <benchmark/benchmark.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cmd/extender/service.hpp"
#include "test/bench/web/kept_connection.hpp"

namespace {

using api::Json;

constexpr int kPodsOfANode = 30;
constexpr int kNewPods = 2'000;  ///< placed and not measured yet
constexpr int kQuestions = 2'000;

std::string node_name(int number) { return "ip-10-0-" + std::to_string(10'000 + number) + ".example.internal"; }

/// A cluster as the caches and the collector provide it.
struct World {
  explicit World(int count) {
    auto measured = std::make_shared<scheduling::MeasuredUsage>();
    measured->source = "m";
    measured->resources = {{"cpu", false}, {"memory", false}};
    for (int i = 0; i < count; ++i) add_node(i, *measured);
    std::ranges::sort(pods, {}, [](const auto& pod) { return pod->meta.name; });
    std::vector<scheduling::MeasuredUsage::Pod> rows;
    std::vector<std::int64_t> amounts;
    for (const auto& pod : pods) {
      rows.push_back({pod->meta.ns, pod->meta.name});
      amounts.insert(amounts.end(), {50, 100'000'000'000});
    }
    measured->pods = scheduling::SharedVector(std::move(rows));
    measured->pod_amounts = scheduling::SharedVector(std::move(amounts));
    keeper.replace(extender::make_load_model(measured, keeper.resources(), nodes, pods), clock.now());
    for (int i = 0; i < kNewPods; ++i) place_new(i, i % count);
  }

  void add_node(int number, scheduling::MeasuredUsage& measured) {
    api::Node node;
    node.meta.name = node_name(number);
    node.allocatable = {{"cpu", api::Quantity::from_milli(16'000)},
                        {"memory", api::Quantity::from_milli((std::int64_t{64} << 30) * 1000)}};
    nodes.push_back(std::make_shared<const api::Node>(node));
    scheduling::MeasuredUsage::Node entry;
    entry.name = node.meta.name;
    entry.time = clock.now();
    for (int sample = 0; sample < 20; ++sample)
      entry.samples.insert(entry.samples.end(), {1'000 + number * 7 % 9'000 + sample * 10, 20'000'000'000'000});
    entry.now = {1'000 + number * 7 % 9'000, 20'000'000'000'000};
    measured.nodes.push_back(std::move(entry));
    for (int i = 0; i < kPodsOfANode; ++i)
      pods.push_back(pod("old-" + std::to_string(100'000 + number * kPodsOfANode + i), number));
  }
  std::shared_ptr<const api::Pod> pod(const std::string& name, int node) const {
    api::Pod made;
    made.meta.ns = "shop";
    made.meta.name = name;
    made.meta.uid = "uid-" + name;
    made.meta.creation_timestamp = clock.now();
    made.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", "rs-" + std::to_string(node % 200), true}};
    made.node_name = {node_name(node)};
    return std::make_shared<const api::Pod>(std::move(made));
  }
  void place_new(int number, int node) {
    const auto bound = pod("new-" + std::to_string(number), node);
    keeper.on_pod(nullptr, bound.get(), clock.now());
  }

  base::SystemClock clock;
  base::Metrics metrics;
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  extender::ExtenderConfig config = [] {
    extender::ExtenderConfig made;
    made.address = "127.0.0.1:0";
    made.rules.emplace_back();
    made.rules.push_back({.kind = extender::ScoreRule::Kind::kTargetLoadPacking, .target = {{"cpu", 60}}});
    made.max_body_bytes = std::int64_t{64} << 20;
    return made;
  }();
  extender::LoadPoller keeper{config.resources()};
  cmd::ExtenderService service{config, keeper, {}, clock, metrics, {}};
};

/// Returns a pod of about 6 KiB, a typical size.
Json asked_pod(int number) {
  Json env = Json::array();
  for (int i = 0; i < 80; ++i)
    env.push_back({{"name", "VARIABLE_" + std::to_string(i)}, {"value", std::string(40, 'x')}});
  const Json container = {{"name", "c"}, {"env", env}, {"resources", {{"requests", {{"cpu", "100m"}}}}}};
  return {{"metadata",
           {{"name", "asked-" + std::to_string(number)},
            {"namespace", "shop"},
            {"uid", "asked-" + std::to_string(number)},
            {"ownerReferences",
             Json::array(
                 {{{"kind", "ReplicaSet"}, {"uid", "rs-" + std::to_string(number % 200)}, {"controller", true}}})}}},
          {"spec", {{"containers", Json::array({container})}}}};
}

/// Returns nodes of about 6 KiB each, since a node lists its images.
Json node_objects(int count) {
  Json items = Json::array();
  for (int i = 0; i < count; ++i) {
    Json images = Json::array();
    for (int image = 0; image < 40; ++image)
      images.push_back({{"names", Json::array({std::string(100, 'i')})}, {"sizeBytes", 123'456'789}});
    items.push_back({{"metadata", {{"name", node_name(i)}}}, {"status", {{"images", images}}}});
  }
  return items;
}

std::string question(int number, int count, bool is_whole) {
  Json args = {{"Pod", asked_pod(number)}, {"Nodes", nullptr}, {"NodeNames", nullptr}};
  if (is_whole) {
    args["Nodes"] = {{"items", node_objects(count)}};
  } else {
    for (int i = 0; i < count; ++i) args["NodeNames"].push_back(node_name(i));
  }
  return args.dump();
}

double milliseconds_of(bench::KeptConnection& client, const char* path, const std::string& body) {
  const auto answer = client.post(path, body);
  if (answer.status != 200) throw std::runtime_error("no answer");
  return answer.took.count();
}

/// One pod after the other, like kube-scheduler. Arguments: nodes; 1 for complete objects (nodeCacheCapable: false).
void BM_Extender(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const bool is_whole = state.range(1) == 1;
  World world(count);
  http_server::Server server(cmd::extender_server_options(world.config),
                             [&](const http_server::Request& request) { return world.service.answer(request); });
  if (!server.start()) return state.SkipWithError("the server does not start");
  bench::KeptConnection client(server.port());
  for (auto _ : state) {
    std::vector<double> filters;
    std::vector<double> priorities;
    for (int i = 0; i < (is_whole ? kQuestions / 20 : kQuestions); ++i) {
      const std::string body = question(i, count, is_whole);
      filters.push_back(milliseconds_of(client, "/filter", body));
      priorities.push_back(milliseconds_of(client, "/prioritize", body));
    }
    state.counters["filter_p50_ms"] = bench::percentile(filters, 0.5);
    state.counters["filter_p99_ms"] = bench::percentile(filters, 0.99);
    state.counters["prioritize_p50_ms"] = bench::percentile(priorities, 0.5);
    state.counters["prioritize_p99_ms"] = bench::percentile(priorities, 0.99);
    state.counters["prioritize_max_ms"] = bench::percentile(priorities, 1);
  }
}
BENCHMARK(BM_Extender)
    ->Args({1'000, 0})
    ->Args({5'000, 0})
    ->Args({1'000, 1})
    ->Iterations(1)
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

}  // namespace
