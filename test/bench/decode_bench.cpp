#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/core/protobuf/cursor.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "kube/runtime/store.hpp"
#include "test/bench/pod_json.hpp"

namespace {

constexpr int kPods = 20'000;

const std::string& pods_text() {
  static const std::string kText = bench::pod_list_json(kPods);
  return kText;
}

double heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

void report(benchmark::State& state, double retained) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(pods_text().size()));
  state.counters["retained_bytes_per_pod"] = retained / kPods;
  state.counters["json_bytes_per_pod"] = static_cast<double>(pods_text().size()) / kPods;
}

/// Baseline: the complete list as a nlohmann DOM.
void BM_DecodePodList_NlohmannDom(benchmark::State& state) {
  double retained = 0;
  (void)pods_text();
  for (auto _ : state) {
    const double before = heap_bytes();
    const auto dom = nlohmann::json::parse(pods_text());
    benchmark::DoNotOptimize(dom.size());
    retained = heap_bytes() - before;
  }
  report(state, retained);
}
BENCHMARK(BM_DecodePodList_NlohmannDom)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_DecodePodList_Compact(benchmark::State& state) {
  double retained = 0;
  (void)pods_text();
  for (auto _ : state) {
    const double before = heap_bytes();
    std::vector<std::shared_ptr<const api::Pod>> pods;
    pods.reserve(kPods);
    const auto listed = api::for_each_item(pods_text(), [&](std::string_view item) -> base::Status {
      auto pod = api::decode_pod(item);
      if (pod) pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
      return base::Done{};
    });
    if (!listed || pods.size() != kPods) state.SkipWithError("the list was not decoded");
    retained = heap_bytes() - before;
  }
  report(state, retained);
}
BENCHMARK(BM_DecodePodList_Compact)->Unit(benchmark::kMillisecond)->Iterations(5);

// ---------------------------------------------------------------- memory of a cache

constexpr int kPodsOfWorkload = 30;

std::string cached_pod(int number) {
  const int workload = number / kPodsOfWorkload;
  return bench::pod_json({.number = number,
                          .ns = "team-" + std::to_string(workload % 50),
                          .name = "web-" + std::to_string(workload) + "-7d4b9c6f5-" + std::to_string(number),
                          .app = "web-" + std::to_string(workload),
                          .node = "ip-10-0-" + std::to_string(number % 1000) + ".eu-central-1.compute.internal",
                          .cpu = std::to_string(100 + workload % 7) + "m"});
}

std::vector<std::string> owner_of(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  return owner == nullptr ? std::vector<std::string>() : std::vector{pod.meta.ns + "/" + owner->uid};
}

/// The operator's cache of pods with its index by owner, 30 pods per workload. Half of the pods are updated in random
/// order, like by a watch.
void BM_CachedPods(benchmark::State& state) {
  const auto pods = static_cast<int>(state.range(0));
  const auto put = [](kube::Store<api::Pod>& store, int number) {
    auto pod = api::decode_pod(cached_pod(number));
    if (pod) store.put(std::make_shared<const api::Pod>(*std::move(pod)));
  };
  for (auto _ : state) {
    const double before = heap_bytes();
    kube::Store<api::Pod> store;
    store.add_index("owner", owner_of);
    for (int i = 0; i < pods; ++i) put(store, i);
    state.counters["bytes_per_pod"] = (heap_bytes() - before) / pods;
    for (int i = 0; i < pods / 2; ++i) put(store, static_cast<int>(std::int64_t{i} * 7919 % pods));
    if (store.size() != static_cast<std::size_t>(pods)) state.SkipWithError("pods are missing");
    state.counters["renewed_bytes_per_pod"] = (heap_bytes() - before) / pods;
    state.counters["MB"] = (heap_bytes() - before) / 1e6;
  }
}
BENCHMARK(BM_CachedPods)->Arg(9'000)->Arg(30'000)->Arg(150'000)->Unit(benchmark::kMillisecond)->Iterations(1);

// ---------------------------------------------------------------- JSON against protobuf

constexpr int kSamePods = 9'000;

std::string file_text(const std::string& name) {
  std::ifstream in(std::string(EVACUATOR_SOURCE_DIR "/test/unit/api/core/golden/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  (void)api::for_each_item(list, [&](std::string_view item) -> base::Status {
    items.emplace_back(item);
    return base::Done{};
  });
  return items;
}

/// Returns a list that alternates between the two pods that a real server has sent in both formats
/// (test/unit/api/core/golden).
std::string same_pods_json() {
  const auto items = items_of(file_text("json/pods.json"));
  std::string list = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[)";
  for (int i = 0; i < kSamePods; ++i) list += (i > 0 ? "," : "") + items.at(static_cast<std::size_t>(i) % items.size());
  return list + "]}";
}

std::string same_pods_protobuf() {
  const auto items = items_of(file_text("protobuf/pods.pb"));
  std::string list;
  for (int i = 0; i < kSamePods; ++i) {
    const auto envelope = api::protobuf::open(items.at(static_cast<std::size_t>(i) % items.size()));
    api::protobuf::put_bytes(list, 2, envelope->body);
  }
  return api::protobuf::seal("v1", "PodList", list);
}

void decode_same_pods(benchmark::State& state, const std::string& list) {
  double retained = 0;
  for (auto _ : state) {
    const double before = heap_bytes();
    std::vector<std::shared_ptr<const api::Pod>> pods;
    pods.reserve(kSamePods);
    const auto listed = api::for_each_item(list, [&](std::string_view item) -> base::Status {
      auto pod = api::decode_pod(item);
      if (pod) pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
      return base::Done{};
    });
    if (!listed || pods.size() != kSamePods) state.SkipWithError("the list was not decoded");
    retained = heap_bytes() - before;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * list.size()));
  state.counters["retained_bytes_per_pod"] = retained / kSamePods;
  state.counters["wire_bytes_per_pod"] = static_cast<double>(list.size()) / kSamePods;
}

void BM_DecodeSamePods_Json(benchmark::State& state) { decode_same_pods(state, same_pods_json()); }
BENCHMARK(BM_DecodeSamePods_Json)->Unit(benchmark::kMillisecond)->Iterations(5);

void BM_DecodeSamePods_Protobuf(benchmark::State& state) { decode_same_pods(state, same_pods_protobuf()); }
BENCHMARK(BM_DecodeSamePods_Protobuf)->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
