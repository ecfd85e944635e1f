#include <benchmark/benchmark.h>
#include <malloc.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
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

/// Baseline: the whole list as a nlohmann DOM.
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

}  // namespace
