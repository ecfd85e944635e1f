/// A plan of Defragmentation on a fragmented cluster with 30 pods per node, compared with its snapshot in the same run,
/// in CPU time. Memory: the plan's peak usage in addition to the objects and their snapshot.

#include <benchmark/benchmark.h>

#include <ctime>
#include <fstream>
#include <string>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"

namespace {

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Returns a value of /proc/self/status in MiB.
double status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

/// Resets VmHWM to the current usage.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

planner::Plan plan_of(const scheduling::ClusterSnapshot& cluster, const char* time_budget) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", std::string(R"({"timeBudget": ")") + time_budget + R"("})"});
  const planner::PlanSpec spec(policy);
  planner::PlanOptions options{.spend_pdbs = false, .taint_value = "bench"};
  options.elapsed = [begin = seconds()] {
    return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds() - begin));
  };
  return planner::plan_cycle(
      {.spec = spec, .cluster = cluster, .leaving = {}, .now = builders::kNoon, .options = options});
}

/// Returns the budget that the docs recommend for this size.
const char* budget_for(std::int64_t nodes) { return nodes > 1000 ? "10s" : nodes > 200 ? "2s" : "500ms"; }

void BM_Defragmentation(benchmark::State& state) {
  const double before = status_mib("VmRSS");
  const auto input = fragmentation::make_cluster("small", static_cast<int>(state.range(0)), 1);
  double began = seconds();
  const scheduling::ClusterSnapshot cluster(input);
  const double building = seconds() - began;
  const double held = status_mib("VmRSS") - before;
  double planning = 0;
  planner::Plan plan;
  forget_peak();
  for (auto _ : state) {
    began = seconds();
    plan = plan_of(cluster, budget_for(state.range(0)));
    planning += seconds() - began;
  }
  const double peak = status_mib("VmHWM") - before;
  const auto& report = *plan.strategies.at(0).emptying;
  state.counters["pods"] = static_cast<double>(cluster.pod_count());
  state.counters["freed"] = report.freed;
  state.counters["bound"] = report.bound;
  state.counters["moves"] = static_cast<double>(plan.moves.size());
  state.counters["snapshot_ms"] = building * 1000;
  state.counters["to_snapshot"] = planning / static_cast<double>(state.iterations()) / building;
  state.counters["snapshot_MiB"] = held;
  state.counters["memory_to_snapshot"] = peak / held;
}
BENCHMARK(BM_Defragmentation)->Arg(200)->Arg(1000)->Arg(5000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
