#include <benchmark/benchmark.h>

#include <fstream>

#include "api/descheduler_policy.hpp"
#include "planner/plan/planner.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "test/builders/bench_cluster.hpp"

namespace {

const base::TimePoint kNow{std::chrono::sys_days(std::chrono::year(2026) / 11 / 21)};

api::DeschedulerPolicySpec low_node_utilization(std::optional<std::int32_t> total) {
  api::DeschedulerPolicySpec spec;
  spec.evictability.node_fit = true;
  spec.strategies = {
      {"LowNodeUtilization",
       R"({"thresholds":{"cpu":30,"memory":30,"pods":30},"targetThresholds":{"cpu":60,"memory":60,"pods":60}})"}};
  spec.limits.per_cycle.total = total;
  return spec;
}

double resident_mib() {
  std::ifstream status("/proc/self/statm");
  long size = 0;
  long resident = 0;
  status >> size >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

scheduling::SnapshotInput input_of(const builders::BenchCluster& cluster) {
  return {.pods = cluster.pods,
          .nodes = cluster.nodes,
          .pdbs = {},
          .namespaces = cluster.namespaces,
          .priority_classes = {},
          .claims = {},
          .volumes = {},
          .workloads = {}};
}

/// One cycle of the operator: snapshot from the caches, then the plan. Arguments: nodes, total limit (0 for none).
void BM_LowNodeUtilizationCycle(benchmark::State& state) {
  const auto cluster = builders::bench_cluster(static_cast<int>(state.range(0)));
  const auto limit = state.range(1) > 0 ? std::optional(static_cast<std::int32_t>(state.range(1))) : std::nullopt;
  const planner::PlanSpec plan_spec(low_node_utilization(limit));
  std::size_t moves = 0;
  for (auto _ : state) {
    const scheduling::ClusterSnapshot snapshot(input_of(cluster));
    moves = planner::plan_cycle({.spec = plan_spec, .cluster = snapshot, .leaving = {}, .now = kNow}).moves.size();
  }
  state.counters["moves"] = static_cast<double>(moves);
  state.counters["pods"] = static_cast<double>(cluster.pods.size());
  state.counters["rss_mib"] = resident_mib();
}
BENCHMARK(BM_LowNodeUtilizationCycle)
    ->Args({100, 0})
    ->Args({1000, 0})
    ->Args({1000, 100})
    ->Args({5000, 0})
    ->Args({5000, 100})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

void BM_Snapshot(benchmark::State& state) {
  const auto cluster = builders::bench_cluster(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const scheduling::ClusterSnapshot snapshot(input_of(cluster));
    benchmark::DoNotOptimize(snapshot.pod_count());
  }
}
BENCHMARK(BM_Snapshot)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
