/// Each strategy alone on the reference cluster of the benchmarks: the plan of one cycle on a warm snapshot, with its
/// allocations. The complexity fit over 3,000, 30,000 and 150,000 pods is printed below each family (the aim is n log
/// n).

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "api/descheduler_policy.hpp"
#include "planner/plan/planner.hpp"
#include "planner/strategies/catalog.hpp"
#include "test/bench/allocations.hpp"
#include "test/builders/bench_cluster.hpp"

namespace {

/// All pods are old at this time. Strategies that use the age select a third of them.
const base::TimePoint kBenchNow{std::chrono::sys_days(std::chrono::year(2026) / 11 / 21)};

struct BenchedStrategy {
  const char* name;
  const char* args;
  bool spreads_softly = false;  ///< whether all spread constraints are ScheduleAnyway
};
constexpr BenchedStrategy kBenched[] = {
    {"AlternatingUtilization",
     R"({"lowNodeUtilization":{"thresholds":{"cpu":30,"memory":30},"targetThresholds":{"cpu":60,"memory":60}},)"
     R"("highNodeUtilization":{"thresholds":{"cpu":30,"memory":30}}})"},
    {"HighNodeUtilization", R"({"thresholds":{"cpu":30,"memory":30}})"},
    {"LowNodeUtilization",
     R"({"thresholds":{"cpu":30,"memory":30,"pods":30},"targetThresholds":{"cpu":60,"memory":60,"pods":60}})"},
    {"PodCriteria", R"({"minAgeSeconds":86400,"labelSelector":{"matchLabels":{"tier":"t0"}}})"},
    {"PodLifeTime", R"({"maxPodLifeTimeSeconds":86400,"labelSelector":{"matchLabels":{"tier":"t0"}}})"},
    {"PreferredPlacement", "{}", true},
    {"RemoveDuplicates", "{}"},
    {"RemoveFailedPods", "{}"},
    {"RemovePodsHavingTooManyRestarts", R"({"podRestartThreshold":1})"},
    {"RemovePodsViolatingInterPodAntiAffinity", "{}"},
    {"RemovePodsViolatingNodeAffinity", R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"]})"},
    {"RemovePodsViolatingNodeTaints", "{}"},
    {"RemovePodsViolatingTopologySpreadConstraint", "{}"},
};
/// One cycle by requests, and one by equal measured usage. The aim is at most 1.3 times the time.
constexpr BenchedStrategy kByRequests = {
    "LowNodeUtilization", R"({"thresholds":{"cpu":30,"memory":30},"targetThresholds":{"cpu":60,"memory":60}})"};
constexpr BenchedStrategy kByUsage = {
    "LowNodeUtilization", R"({"thresholds":{"cpu":30,"memory":30},"targetThresholds":{"cpu":60,"memory":60},)"
                          R"("usage":{"source":"bench","hysteresis":{"samples":1,"of":1}}})"};

std::shared_ptr<const api::Pod> spread_softly(const std::shared_ptr<const api::Pod>& pod) {
  api::Pod soft = *pod;
  for (api::TopologySpreadConstraint& each : soft.topology_spread) each.schedule_anyway = true;
  return std::make_shared<const api::Pod>(std::move(soft));
}

/// Built once for each size, because the snapshot is not measured.
const scheduling::ClusterSnapshot& warm_snapshot(int nodes, bool softly) {
  static std::map<std::pair<int, bool>, std::unique_ptr<const scheduling::ClusterSnapshot>> known;
  auto& snapshot = known[{nodes, softly}];
  if (!snapshot) {
    const auto cluster = builders::bench_cluster(nodes);
    scheduling::SnapshotInput input;
    input.pods = cluster.pods;
    input.nodes = cluster.nodes;
    input.namespaces = cluster.namespaces;
    if (softly) std::ranges::transform(input.pods, input.pods.begin(), spread_softly);
    snapshot = std::make_unique<const scheduling::ClusterSnapshot>(std::move(input));
  }
  return *snapshot;
}

/// Returns a usage that equals the requests, currently and on average.
std::shared_ptr<const scheduling::MeasuredUsage> usage_as_requested(const scheduling::ClusterSnapshot& cluster) {
  using scheduling::kCpuIndex, scheduling::kMemoryIndex;
  auto usage = std::make_shared<scheduling::MeasuredUsage>();
  usage->source = "bench";
  usage->resources = {{"cpu"}, {"memory"}};
  for (const scheduling::NodeIndex node : cluster.nodes()) {
    const std::vector<std::int64_t> now = {cluster.used().get(node, kCpuIndex), cluster.used().get(node, kMemoryIndex)};
    usage->nodes.push_back({cluster.node(node).meta.name, kBenchNow, "", now, {}, now});
  }
  std::vector<scheduling::MeasuredUsage::Pod> pods;
  std::vector<std::int64_t> amounts;
  for (const scheduling::PodIndex pod : cluster.pods_by_name()) {
    pods.push_back({cluster.pod(pod).meta.ns, cluster.pod(pod).meta.name});
    const auto& requests = cluster.requests(pod);
    amounts.insert(amounts.end(),
                   {scheduling::amount_of(requests, kCpuIndex), scheduling::amount_of(requests, kMemoryIndex)});
  }
  usage->pods = scheduling::SharedVector(std::move(pods));
  usage->pod_amounts = scheduling::SharedVector(std::move(amounts));
  usage->pod_means = usage->pod_amounts;
  return usage;
}

struct Variant {
  const char* suffix;
  std::optional<std::int32_t> total{};
  api::Compatibility compatibility = api::Compatibility::kNone;
};
constexpr Variant kVariants[] = {{""}, {"/limit:100", 100}, {"/Upstream", {}, api::Compatibility::kUpstream}};

/// Returns the peak memory of the process: the cluster's objects, the snapshot and the plans so far.
double peak_resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void plan_strategy(benchmark::State& state, const BenchedStrategy& benched, const Variant& variant) {
  const auto& snapshot = warm_snapshot(static_cast<int>(state.range(0)), benched.spreads_softly);
  api::DeschedulerPolicySpec spec;
  spec.evictability.node_fit = true;
  spec.strategies = {{benched.name, benched.args}};
  spec.limits.per_cycle.total = variant.total;
  spec.compatibility = variant.compatibility;
  const planner::PlanSpec plan_spec(spec);
  planner::PlanInput input{.spec = plan_spec, .cluster = snapshot, .leaving = {}, .now = kBenchNow};
  if (!plan_spec.strategy_specs.usage_needs().empty()) input.usage.push_back(usage_as_requested(snapshot));
  std::size_t moves = 0;
  bench::Allocations allocations;
  for (auto _ : state) {
    const bench::AllocationScope scope(allocations);
    moves = planner::plan_cycle(input).moves.size();
  }
  const auto cycles = static_cast<double>(std::max<benchmark::IterationCount>(state.iterations(), 1));
  state.counters["moves"] = static_cast<double>(moves);
  state.counters["allocs"] = static_cast<double>(allocations.count) / cycles;
  state.counters["alloc_MiB"] = static_cast<double>(allocations.bytes) / cycles / (1 << 20);
  state.counters["peak_MiB"] = peak_resident_mib();
  state.SetComplexityN(static_cast<benchmark::IterationCount>(snapshot.pod_count()));
}

/// Prints errors and returns false if the catalogue does not contain the name or rejects the args.
bool is_usable(const BenchedStrategy& benched) {
  const auto errors = strategies::validate({{benched.name, benched.args}});
  for (const api::FieldError& error : errors) std::fprintf(stderr, "%s: %s\n", benched.name, error.to_string().c_str());
  return errors.empty();
}

void add(const BenchedStrategy& benched, const Variant& variant) {
  benchmark::RegisterBenchmark((std::string("BM_Plan/") + benched.name + variant.suffix).c_str(),
                               [&](benchmark::State& state) { plan_strategy(state, benched, variant); })
      ->Arg(100)
      ->Arg(1000)
      ->Arg(5000)
      ->Complexity(benchmark::oNLogN)
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.1);
}

const bool kRegistered = [] {
  for (const BenchedStrategy& benched : kBenched) {
    if (!is_usable(benched)) continue;
    for (const Variant& variant : kVariants) add(benched, variant);
  }
  static constexpr Variant kRequests{"/by:requests"}, kUsage{"/by:usage"};
  add(kByRequests, kRequests);
  add(kByUsage, kUsage);
  return true;
}();

}  // namespace
