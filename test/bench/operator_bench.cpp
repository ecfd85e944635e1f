#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "kube/request.hpp"
#include "test/bench/bench_world.hpp"

namespace {

constexpr base::milliseconds kEvictionTakes{100};  // consistent read of a current API server
constexpr int kEvictionsPerThread = 40;
constexpr base::seconds kPatience{300};

controllers::OperatorConfig unlimited(int workers, double qps) {
  controllers::OperatorConfig config;
  config.in_flight = {
      .total = api::IntOrPercent{25'000, false}, .per_node = {}, .per_namespace = {}, .per_workload = {}};
  config.workers = workers;
  config.qps = qps;
  config.burst = static_cast<std::int32_t>(qps);
  return config;
}

/// Returns the rate between the first burst, in which `concurrency` calls arrive together, and the last call.
double eviction_rate(bench::World& world, int concurrency) {
  auto calls = world.calls("pods", "eviction");
  std::ranges::sort(calls, {}, &std::pair<std::string, base::TimePoint>::second);
  const std::chrono::duration<double> took = calls.back().second - calls.front().second;
  return static_cast<double>(calls.size() - static_cast<std::size_t>(concurrency)) / took.count();
}

/// Returns the CPU time of this process in milliseconds, of the server and of its client.
double cpu_ms() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

struct EvictionRate {
  double per_second = 0;
  double cpu_ms_each = 0;    ///< until the last answer is recorded
  double requests_each = 1;  ///< including the eviction and Events
};

/// The maximum rate of a server: as many threads as evictions may be in flight, each posting evictions in sequence.
EvictionRate bare_loop(int threads) {
  bench::World world;
  world.delay_evictions(kEvictionTakes);
  const auto pods = world.add_pods("bare", threads * kEvictionsPerThread);
  const auto transport = bench::must(kube::HttpTransport::create(world.config()));
  std::atomic<std::size_t> next = 0;
  std::atomic<int> refused = 0;
  std::vector<std::jthread> workers;
  const double cpu = cpu_ms();
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (std::size_t mine = next++; mine < pods.size(); mine = next++) {
        const auto answer = transport->round_trip(
            kube::eviction_request({"default", pods[mine]}, {.uid = world.uid_of(pods[mine])}, "v1"));
        if (!answer || answer->status != 201) ++refused;
      }
    });
  }
  workers.clear();
  if (refused > 0) throw std::runtime_error("evictions were refused");
  return {.per_second = eviction_rate(world, threads),
          .cpu_ms_each = (cpu_ms() - cpu) / static_cast<double>(pods.size())};
}

EvictionRate operator_loop(int workers) {
  bench::World world;
  world.delay_evictions(kEvictionTakes);
  const auto pods = world.add_pods("pod", workers * kEvictionsPerThread);
  for (const std::string& pod : pods) world.add_evacuation(pod);
  bench::RunningOperator running(world.config(), unlimited(workers, 5000));
  running.fill_caches();
  const double before = running.requests();
  const double cpu = cpu_ms();
  running.start_workers();
  bench::await("the evictions", kPatience, [&] { return world.evictions() >= static_cast<std::int64_t>(pods.size()); });
  bench::await("the answers", kPatience, [&] { return world.evacuations_in("Succeeded") == pods.size(); });
  return {.per_second = eviction_rate(world, workers),
          .cpu_ms_each = (cpu_ms() - cpu) / static_cast<double>(pods.size()),
          .requests_each = (running.requests() - before) / static_cast<double>(pods.size())};
}

/// Evictions per second if each takes the server 100 ms. The argument is the number of concurrent evictions.
void BM_EvictionsPerSecond(benchmark::State& state) {
  const int concurrency = static_cast<int>(state.range(0));
  EvictionRate bare;
  EvictionRate evacuator;
  for (auto _ : state) {
    bare = bare_loop(concurrency);
    evacuator = operator_loop(concurrency);
  }
  state.counters["bare_per_s"] = bare.per_second;
  state.counters["bare_cpu_ms"] = bare.cpu_ms_each;
  state.counters["operator_per_s"] = evacuator.per_second;
  state.counters["operator_cpu_ms"] = evacuator.cpu_ms_each;
  state.counters["ratio"] = evacuator.per_second / bare.per_second;
  state.counters["requests_each"] = evacuator.requests_each;
}
BENCHMARK(BM_EvictionsPerSecond)->Arg(8)->Arg(32)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

struct Latencies {
  double p50 = 0;
  double p99 = 0;
};

/// Returns the milliseconds from the creation of each of `pods`' Evacuations to its eviction call, both as recorded by
/// the server.
Latencies latencies_of(bench::World& world, const std::vector<std::string>& pods) {
  std::map<std::string, base::TimePoint> created;
  for (const auto& [name, time] : world.calls("evacuations", "")) created[name] = time;
  std::vector<double> took;
  for (const auto& [name, time] : world.calls("pods", "eviction")) {
    took.push_back(std::chrono::duration<double, std::milli>(time - created.at(name)).count());
  }
  if (took.size() != pods.size()) throw std::runtime_error("not every pod was evicted");
  std::ranges::sort(took);
  return {took[took.size() / 2], took[took.size() * 99 / 100]};
}

/// Creates 200 plain Evacuations, 20 per second, while `in_flight` others wait for their pods' operators.
Latencies creation_to_eviction(int in_flight) {
  constexpr int kEvacuations = 200;
  constexpr base::milliseconds kInterval{50};
  bench::World world;
  world.delay_evictions(base::milliseconds(0));
  if (in_flight > 0) {
    for (const std::string& pod : world.add_pods("busy", in_flight, "ack=0s")) world.add_evacuation(pod);
  }
  const auto pods = world.add_pods("plain", kEvacuations);
  bench::RunningOperator running(world.config(), unlimited(32, 500));
  running.fill_caches();
  running.start_workers();
  bench::await("the handoffs", kPatience,
               [&] { return world.evacuations_in("InProgress") == static_cast<std::size_t>(in_flight); });
  running.await_rest();
  auto next = std::chrono::steady_clock::now();
  for (const std::string& pod : pods) {
    world.add_evacuation(pod);
    std::this_thread::sleep_until(next += kInterval);
  }
  bench::await("the evictions", kPatience, [&] { return world.evictions() >= kEvacuations; });
  return latencies_of(world, pods);
}

/// Time from an Evacuation's creation to its eviction call at 500 requests per second. The argument is the number of
/// other Evacuations in flight.
void BM_CreationToEviction(benchmark::State& state) {
  Latencies idle;
  Latencies busy;
  for (auto _ : state) {
    idle = creation_to_eviction(0);
    busy = creation_to_eviction(static_cast<int>(state.range(0)));
  }
  state.counters["idle_p50_ms"] = idle.p50;
  state.counters["idle_p99_ms"] = idle.p99;
  state.counters["p50_ms"] = busy.p50;
  state.counters["p99_ms"] = busy.p99;
  state.counters["p99_ratio"] = busy.p99 / idle.p99;
}
BENCHMARK(BM_CreationToEviction)->Arg(1000)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
