#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "http_server/server.hpp"
#include "test/e2e/harness/process.hpp"
#include "test/fakes/http_get.hpp"
#include "test/fakes/temp_folder.hpp"

/// The operator as `evacuator run` in a separate process, with a cluster in another one: memory and threads.
namespace {

constexpr std::chrono::seconds kStartUp{600};
constexpr const char* kReconciles = "evacuator_reconciles_total{queue=\"evacuations\"";
constexpr const char* kConfig = R"(
limits: {inFlight: {total: 25000, perNode: 20000, perTargetNode: 20000, perWorkload: 20000}}
client: {qps: 5000, burst: 5000}
leaderElection: {enabled: false}
logging: {level: error}
)";

void wait_for(const std::string& what, const std::function<bool()>& holds) {
  const auto give_up = std::chrono::steady_clock::now() + kStartUp;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("waited in vain for " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::uint16_t free_port() {
  http_server::Server probe({}, [](const http_server::Request&) { return http_server::Response{}; });
  if (auto started = probe.start(); !started) throw std::runtime_error(started.error().message);
  return probe.port();
}

/// Operator and cluster processes and their folder.
class Pair {
 public:
  Pair(int nodes, int handoffs) : port_(free_port()), metrics_port_(free_port()) {
    cluster_ = std::make_unique<e2e::Process>(e2e::Process::Options{
        .argv = {EVACUATOR_BENCH_CLUSTER, folder_.path(), std::to_string(nodes), std::to_string(handoffs)},
        .environment = {},
        .log = folder_.file("cluster.log"),
        .errors = {},
        .with_input = true});
    wait_for("the cluster", [&] { return lines_of_cluster() >= 1; });
    e2e::write_file(folder_.file("config.yaml"), kConfig);
    operator_ = std::make_unique<e2e::Process>(e2e::Process::Options{
        .argv = {EVACUATOR_BINARY, "run", "--kubeconfig=" + folder_.file("kubeconfig"),
                 "--config=" + folder_.file("config.yaml"), fmt::format("--health-address=127.0.0.1:{}", port_),
                 fmt::format("--metrics-address=127.0.0.1:{}", metrics_port_)},
        .environment = {},
        .log = folder_.file("operator.log"),
        .errors = {}});
    wait_for("the operator's caches",
             [&] { return fakes::http_get(port_, "/readyz").find(" 200 ") != std::string::npos; });
  }
  ~Pair() {
    operator_->kill();
    cluster_->kill();
  }

  void evacuate() {
    cluster_->tell("evacuate");
    wait_for("the Evacuations to be in progress", [&] { return lines_of_cluster() >= 2; });
    // The operator is idle once nothing was reconciled for two seconds.
    double seen = -1;
    wait_for("the operator to rest", [&] {
      const double before = std::exchange(seen, metric(kReconciles));
      std::this_thread::sleep_for(std::chrono::seconds(2));
      return before == seen;
    });
  }

  /// Returns a value of the operator's /proc/<pid>/status: VmRSS and VmHWM in KiB, Threads.
  double status(const std::string& name) const {
    std::istringstream lines(e2e::read_file(fmt::format("/proc/{}/status", operator_->pid())));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1));
    }
    throw std::runtime_error("the operator has ended:\n" + e2e::read_file(folder_.file("operator.log")));
  }
  double resident_mib() const { return status("VmRSS") / 1024; }

  /// Returns the sum of the series whose text begins with `series`.
  double metric(const std::string& series) const {
    std::istringstream lines(fakes::http_get(metrics_port_, "/metrics"));
    double sum = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(series)) sum += std::stod(line.substr(line.rfind(' ')));
    }
    return sum;
  }

 private:
  std::ptrdiff_t lines_of_cluster() {
    if (!cluster_->running())
      throw std::runtime_error("the cluster has ended:\n" + e2e::read_file(folder_.file("cluster.log")));
    const std::string log = e2e::read_file(folder_.file("cluster.log"));
    return std::count(log.begin(), log.end(), '\n');
  }

  const fakes::TempFolder folder_;
  std::uint16_t port_;  ///< health port
  std::uint16_t metrics_port_;
  std::unique_ptr<e2e::Process> cluster_;
  std::unique_ptr<e2e::Process> operator_;
};

double reconciles_per_second(const Pair& pair) {
  constexpr std::chrono::seconds kWatched{20};
  const double before = pair.metric(kReconciles);
  std::this_thread::sleep_for(kWatched);
  return (pair.metric(kReconciles) - before) / static_cast<double>(kWatched.count());
}

/// Many Evacuations InProgress, each waiting for its pod's operator. The argument is their number. The baseline is the
/// same process before they exist.
void BM_EvacuationsInFlight(benchmark::State& state) {
  const auto count = static_cast<double>(state.range(0));
  for (auto _ : state) {
    Pair pair(20, static_cast<int>(state.range(0)));
    const double mib_before = pair.resident_mib();
    const double threads_before = pair.status("Threads");
    pair.evacuate();
    state.counters["threads_before"] = threads_before;
    state.counters["threads"] = pair.status("Threads");
    state.counters["rss_mib"] = pair.resident_mib();
    state.counters["rss_kib_each"] = (pair.resident_mib() - mib_before) * 1024 / count;
    state.counters["reconciles_per_s"] = reconciles_per_second(pair);
  }
}
BENCHMARK(BM_EvacuationsInFlight)->Arg(1000)->Arg(10'000)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

/// The complete operator with a cluster of this number of nodes and thirty times as many pods, while a
/// LowNodeUtilization policy plans every ten seconds. The baseline is the operator with an (almost) empty cluster.
void BM_ResidentMemory(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  double empty = 0;
  for (auto _ : state) {
    empty = Pair(20, 0).resident_mib();
    Pair pair(nodes, 0);
    const double cycles = pair.metric("evacuator_policy_cycles_total");
    std::this_thread::sleep_for(std::chrono::seconds(35));
    state.counters["empty_mib"] = empty;
    state.counters["rss_mib"] = pair.resident_mib();
    state.counters["peak_mib"] = pair.status("VmHWM") / 1024;
    state.counters["cycles"] = pair.metric("evacuator_policy_cycles_total") - cycles;
    state.counters["bytes_per_pod"] = (pair.resident_mib() - empty) * (1 << 20) / (30.0 * nodes);
  }
}
BENCHMARK(BM_ResidentMemory)->Arg(1000)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();
BENCHMARK(BM_ResidentMemory)->Arg(5000)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
