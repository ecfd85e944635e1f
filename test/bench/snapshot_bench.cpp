/// The snapshot of one cycle, derived from that of the previous cycle and built from scratch (SnapshotAnew), on the
/// reference cluster of the benchmarks.

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/snapshot/snapshot_cache.hpp"
#include "test/builders/bench_cluster.hpp"

namespace {

scheduling::SnapshotInput bench_input(int nodes) {
  const auto cluster = builders::bench_cluster(nodes);
  return {.pods = cluster.pods, .nodes = cluster.nodes, .namespaces = cluster.namespaces};
}

/// Returns the pod with a different restart count. The rest of its state must exist already.
std::shared_ptr<const api::Pod> with_restart(const api::Pod& pod, int count) {
  auto changed = std::make_shared<api::Pod>(pod);
  changed->container_statuses.resize(1);
  changed->container_statuses[0].restart_count = count;
  return changed;
}

std::shared_ptr<const api::Pod> with_node(const api::Pod& pod, const std::string& node) {
  auto changed = std::make_shared<api::Pod>(pod);
  changed->node_name = {node};
  return changed;
}

std::shared_ptr<const api::Pod> with_name(const api::Pod& pod, const std::string& name) {
  auto other = std::make_shared<api::Pod>(pod);
  other->meta.name = other->meta.uid = name;
  return other;
}

using Pods = scheduling::SnapshotInput::List<api::Pod>;

/// Returns `count` pods from all over the cluster.
Pods sample(const Pods& pods, std::size_t count, std::size_t from) {
  Pods some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(pods[(pods.size() / count * i + from) % pods.size()]);
  return some;
}

/// Applies a separate change to each of a thousand pods. `make` returns the change.
void apply_one_by_one(benchmark::State& state, scheduling::ClusterSnapshot& snapshot, const Pods& pods,
                      const std::function<scheduling::PodChanges(const api::Pod&, std::size_t)>& make) {
  std::vector<scheduling::PodChanges> changes;
  for (std::size_t i = 0; i < pods.size(); ++i) changes.push_back(make(*pods[i], i));
  std::size_t next = 0;
  for (auto _ : state) snapshot.apply(std::move(changes.at(next++)));
}

constexpr int kChangedPods = 1000;

/// One pod with a changed state.
void BM_RenewOnePod(benchmark::State& state) {
  const auto input = bench_input(static_cast<int>(state.range(0)));
  scheduling::ClusterSnapshot snapshot(input);
  apply_one_by_one(state, snapshot, sample(input.pods, kChangedPods, 7), [](const api::Pod& pod, std::size_t i) {
    return scheduling::PodChanges{.gone = {}, .now = {with_restart(pod, static_cast<int>(i))}};
  });
}
BENCHMARK(BM_RenewOnePod)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond)->Iterations(kChangedPods);

/// One pending pod is bound.
void BM_BindOnePod(benchmark::State& state) {
  const auto input = bench_input(static_cast<int>(state.range(0)));
  scheduling::ClusterSnapshot snapshot(input);
  const Pods bound = sample(input.pods, kChangedPods, 7);
  scheduling::PodChanges unbind;
  for (const auto& pod : bound) unbind.now.push_back(with_node(*pod, ""));
  snapshot.apply(unbind);
  apply_one_by_one(state, snapshot, bound, [](const api::Pod& pod, std::size_t) {
    return scheduling::PodChanges{.gone = {}, .now = {with_node(pod, pod.node_name.value)}};
  });
}
BENCHMARK(BM_BindOnePod)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond)->Iterations(kChangedPods);

/// One new pod of an existing workload.
void BM_CreateOnePod(benchmark::State& state) {
  const auto input = bench_input(static_cast<int>(state.range(0)));
  scheduling::ClusterSnapshot snapshot(input);
  apply_one_by_one(state, snapshot, sample(input.pods, kChangedPods, 7), [](const api::Pod& pod, std::size_t) {
    return scheduling::PodChanges{.gone = {}, .now = {with_name(pod, pod.meta.name + "-new")}};
  });
}
BENCHMARK(BM_CreateOnePod)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond)->Iterations(kChangedPods);

/// One deleted pod.
void BM_DeleteOnePod(benchmark::State& state) {
  const auto input = bench_input(static_cast<int>(state.range(0)));
  scheduling::ClusterSnapshot snapshot(input);
  const Pods gone = sample(input.pods, kChangedPods, 7);
  std::size_t next = 0;
  for (auto _ : state) snapshot.apply({.gone = {gone.at(next++)}, .now = {}});
}
BENCHMARK(BM_DeleteOnePod)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond)->Iterations(kChangedPods);

/// A thousand changes: equal numbers of pods are deleted, created, bound (or unbound, in every other round) and
/// changed.
class MixedChanges {
 public:
  explicit MixedChanges(const Pods& pods) {
    for (const auto& pod : sample(pods, kEach, 1)) going_.push_back(pod);
    for (const auto& pod : sample(pods, kEach, 2)) coming_.push_back(with_name(*pod, pod->meta.name + "-new"));
    for (const auto& pod : sample(pods, kEach, 3)) bound_.push_back(pod);
    for (const auto& pod : bound_) pending_.push_back(with_node(*pod, ""));
    for (const auto& pod : sample(pods, kEach, 4)) renewed_.push_back(pod);
  }
  scheduling::PodChanges next() {
    ++turn_;
    scheduling::PodChanges changes{.gone = going_, .now = coming_};
    changes.now.insert(changes.now.end(), pending_.begin(), pending_.end());
    std::swap(going_, coming_);
    std::swap(pending_, bound_);
    for (const auto& pod : renewed_) changes.now.push_back(with_restart(*pod, turn_));
    return changes;
  }

 private:
  static constexpr std::size_t kEach = kChangedPods / 4;
  Pods going_, coming_, bound_, pending_, renewed_;
  int turn_ = 0;
};

void BM_ThousandChanges(benchmark::State& state) {
  const auto input = bench_input(static_cast<int>(state.range(0)));
  scheduling::ClusterSnapshot snapshot(input);
  MixedChanges mixed(input.pods);
  for (auto _ : state) {
    state.PauseTiming();
    auto changes = mixed.next();
    state.ResumeTiming();
    snapshot.apply(std::move(changes));
  }
}
BENCHMARK(BM_ThousandChanges)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(20);

/// The next cycle's snapshot after a thousand changes, from a list of all pods.
void BM_NextSnapshotOfThousandChanges(benchmark::State& state) {
  auto input = bench_input(static_cast<int>(state.range(0)));
  scheduling::SnapshotCache keeper;
  keeper.at(input);
  MixedChanges mixed(input.pods);
  std::map<api::ObjectKey, std::shared_ptr<const api::Pod>> pods;
  for (const auto& pod : input.pods) pods.emplace(pod->meta.key(), pod);
  for (auto _ : state) {
    state.PauseTiming();
    const auto changes = mixed.next();
    for (const auto& pod : changes.gone) pods.erase(pod->meta.key());
    for (const auto& pod : changes.now) pods[pod->meta.key()] = pod;
    input.pods.clear();
    for (const auto& [key, pod] : pods) input.pods.push_back(pod);
    state.ResumeTiming();
    benchmark::DoNotOptimize(keeper.at(input).pod_count());
  }
  if (keeper.made() != 1) state.SkipWithError("made again");
}
BENCHMARK(BM_NextSnapshotOfThousandChanges)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(20);

/// The next cycle's snapshot after a change of one pod: compares the lists and replaces the pod.
void BM_NextSnapshot(benchmark::State& state) {
  auto input = bench_input(static_cast<int>(state.range(0)));
  scheduling::SnapshotCache keeper;
  keeper.at(input);
  int count = 0;
  for (auto _ : state) {
    input.pods.front() = with_restart(*input.pods.front(), ++count);
    benchmark::DoNotOptimize(keeper.at(input).pod_count());
  }
  if (keeper.made() != 1) state.SkipWithError("made again");
}
BENCHMARK(BM_NextSnapshot)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(20);

/// Builds the snapshot from scratch.
void BM_SnapshotAnew(benchmark::State& state) {
  const auto input = bench_input(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const scheduling::ClusterSnapshot snapshot(input);
    benchmark::DoNotOptimize(snapshot.pod_count());
  }
}
BENCHMARK(BM_SnapshotAnew)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
