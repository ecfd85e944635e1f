#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "kube/config/process_environment.hpp"
#include "test/bench/real/connection.hpp"
#include "test/bench/real/observe.hpp"

/// The helper of hack/bench-real.sh, its only caller.
namespace {

constexpr const char* kUsage = R"(usage: evacuator_real_bench COMMAND
  fill KUBECONFIG NODES PODS_PER_NODE      nodes, ReplicaSets and pods, as far as they are missing
  clean KUBECONFIG                         remove all Evacuations
  loop KUBECONFIG CONNECTIONS COUNT        evict COUNT pods as fast as possible
  flood KUBECONFIG CONNECTIONS             list all pods, without end
  observe PROGRAM PID START AUDIT_LOG FROM EVICTIONS TIMEOUT [NAME=PID]...
                                           follow one run of a descheduler; START in seconds since the epoch
  rest PROGRAM PID SECONDS [WHAT]          CPU of a process that has nothing to do, or does WHAT [at_rest]
  cycle PROGRAM DURATION                   a line for the table, of what a policy's status says
  report                                   lines of JSON on stdin, the table on stdout
)";

bench::RunToObserve run_of(const std::vector<std::string>& args) {
  bench::RunToObserve run;
  run.program = args[1];
  run.pid = std::stoi(args[2]);
  run.started = std::stod(args[3]);
  run.audit_log = args[4];
  run.audit_from = std::stol(args[5]);
  run.evictions = std::stoi(args[6]);
  run.timeout = std::stod(args[7]);
  for (std::size_t i = 8; i < args.size(); ++i) {
    const auto at = args[i].find('=');
    if (at == std::string::npos) bench::die("NAME=PID: " + args[i]);
    run.others.emplace_back(args[i].substr(0, at), std::stoi(args[i].substr(at + 1)));
  }
  return run;
}

int usage() {
  fmt::print(stderr, "{}", kUsage);
  return 2;
}

int run(const std::vector<std::string>& args) {
  const auto is = [&](std::string_view command, std::size_t least) {
    return !args.empty() && args[0] == command && args.size() >= least;
  };
  if (is("fill", 4)) {
    bench::Connection connection(args[1]);
    bench::fill(connection, std::stoi(args[2]), std::stoi(args[3]));
  } else if (is("clean", 2)) {
    bench::Connection connection(args[1]);
    bench::clean(connection);
  } else if (is("loop", 4)) {
    bench::loop(args[1], std::stoi(args[2]), std::stoi(args[3]));
  } else if (is("flood", 3)) {
    bench::flood(args[1], std::stoi(args[2]));
  } else if (is("observe", 8)) {
    bench::observe(run_of(args));
  } else if (is("rest", 4)) {
    bench::observe_rest(args[1], std::stoi(args[2]), std::stod(args[3]), args.size() > 4 ? args[4] : "at_rest");
  } else if (is("cycle", 3)) {
    const auto took = base::parse_duration(args[2]);
    if (!took) bench::die("no duration: " + args[2]);
    fmt::print("{{\"program\": \"{}\", \"cycle_ms\": {}}}\n", args[1],
               std::chrono::duration<double, std::milli>(*took).count());
  } else if (is("report", 1)) {
    bench::report();
  } else {
    return usage();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kube::prepare_process();
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& problem) {  // a malformed number
    fmt::print(stderr, "evacuator_real_bench: {}\n", problem.what());
    return 2;
  }
}
