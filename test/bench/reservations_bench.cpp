/// Capacity check for the surge pod of one pod: one second after the last check, in a cluster in which one pod changed,
/// and for the first time (RoomAnew).

#include <benchmark/benchmark.h>

#include <memory>

#include "controllers/admission/reservations.hpp"
#include "test/builders/bench_cluster.hpp"

namespace {

/// The reference cluster of the benchmarks with its reservations.
class Asker {
 public:
  explicit Asker(int nodes) {
    const auto cluster = builders::bench_cluster(nodes);
    input_ = {.pods = cluster.pods, .nodes = cluster.nodes, .namespaces = cluster.namespaces};
    begin();
  }
  void begin() {
    reservations_ = std::make_unique<controllers::Reservations>([this] { return input_; }, clock_, nullptr);
  }
  void change_a_pod() {
    auto changed = std::make_shared<api::Pod>(*input_.pods.front());
    changed->meta.resource_version = std::to_string(++versions_);
    input_.pods.front() = std::move(changed);
  }
  /// Checks a different pod at each call.
  bool ask() {
    clock_.advance(base::seconds(1));
    const auto& pod = input_.pods[++asked_ * 7];
    api::Evacuation evacuation;
    evacuation.meta.ns = pod->meta.ns;
    evacuation.meta.name = "evac-" + pod->meta.name;
    evacuation.spec.pod_ref = {pod->meta.name, pod->uid()};
    evacuation.spec.node_name = pod->node_name;
    const auto request = controllers::admission_request(evacuation, pod.get(), std::nullopt);
    return !reservations_->reserve({request, controllers::SurgePod{pod}}).node.empty();
  }

 private:
  scheduling::SnapshotInput input_;
  base::ManualClock clock_{base::TimePoint{}};
  std::unique_ptr<controllers::Reservations> reservations_;
  std::size_t asked_ = 0;
  int versions_ = 0;
};

constexpr int kQuestions = 20;

void BM_Room(benchmark::State& state) {
  Asker asker(static_cast<int>(state.range(0)));
  if (!asker.ask()) state.SkipWithError("no room");
  for (auto _ : state) {
    asker.change_a_pod();
    if (!asker.ask()) state.SkipWithError("no room");
  }
}
BENCHMARK(BM_Room)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(kQuestions);

void BM_RoomAnew(benchmark::State& state) {
  Asker asker(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    asker.begin();
    if (!asker.ask()) state.SkipWithError("no room");
  }
}
BENCHMARK(BM_RoomAnew)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
