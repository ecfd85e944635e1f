#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <cmath>

#include "controllers/advice/advice_store.hpp"

/// Cost of ResourceAdvice in the operator: two weeks of a cluster of 150,000 pods, then round after round of samples.
/// The argument is the number of workloads, which have equal numbers of pods with one container.

namespace {

using controllers::advice::AdviceStore;
using controllers::advice::Cluster;

constexpr int kPods = 150'000;
constexpr int kDays = 14;
constexpr double kMega = 1e6;
const base::TimePoint kStart{base::seconds(1'795'262'400)};

std::shared_ptr<const api::Pod> pod_of(int number, int workloads) {
  const std::string set = fmt::format("app-{:05}", number % workloads);
  api::Pod pod;
  pod.meta.ns = fmt::format("ns-{:03}", number % workloads / 25);
  pod.meta.name = fmt::format("{}-{}", set, number / workloads);
  pod.meta.uid = pod.meta.name;
  pod.meta.owner_references = {{"apps/v1", "StatefulSet", set, "uid-" + set, true}};
  pod.node_name = {fmt::format("node-{:05}", number % 5'000)};
  pod.start_time = kStart - std::chrono::hours(24);
  pod.phase = api::PodPhase::kRunning;
  pod.containers.resize(1);
  pod.containers.front().name = "main";
  return std::make_shared<const api::Pod>(std::move(pod));
}

class World {
 public:
  explicit World(int workloads) {
    for (int i = 0; i < kPods; ++i) cluster_.pods.push_back(pod_of(i, workloads));
    cluster_.workload = [](std::string_view, const api::ObjectKey&) { return nullptr; };
    cluster_.is_selected = [](const std::string&) { return true; };
  }

  void follow() { store_.follow(controllers::advice::advised_workloads(cluster_, 5'000), now_); }

  /// Adds a sample of one pod in `share`, from a daily cycle with a phase per pod. Every workload gets samples.
  void sample(std::size_t share = 1) {
    const double wave = 0.2 + 0.15 * std::sin(static_cast<double>(++rounds_) / 24 * 6.2831853);
    for (std::size_t i = 0; i < cluster_.pods.size(); i += share) {
      const auto unusual =
          static_cast<double>((i * 7919 + static_cast<std::size_t>(rounds_) * 104'729) % 1'000) / 1'000;
      const api::Pod& pod = *cluster_.pods[i];
      store_.sample({pod.meta.ns, pod.meta.name, "main", now_, wave * (1 + unusual), 5e8 + 1e8 * unusual}, now_);
    }
  }
  void pass(base::Duration time) { now_ += time; }
  std::size_t workloads() const { return store_.size(); }

 private:
  Cluster cluster_;
  base::TimePoint now_ = kStart;
  int rounds_ = 0;
  AdviceStore store_{{.interval = base::minutes(30), .startup = base::minutes(5), .max_age = base::minutes(10)}};
};

double megabytes() { return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd) / kMega; }

void BM_Advise_Keep(benchmark::State& state) {
  World world(static_cast<int>(state.range(0)));
  const double before = megabytes();
  world.follow();
  for (int hour = 0; hour < kDays * 24; ++hour) {
    world.sample(7);
    world.pass(std::chrono::hours(1));
  }
  if (world.workloads() != static_cast<std::size_t>(state.range(0)))
    return state.SkipWithError("workloads are missing");
  state.counters["kept_mb"] = megabytes() - before;
  for (auto _ : state) {
    world.follow();
    world.sample();
    world.pass(base::minutes(1));
  }
}
BENCHMARK(BM_Advise_Keep)->Arg(1'000)->Arg(5'000)->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
