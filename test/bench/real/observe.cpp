#include "test/bench/real/observe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "test/bench/real/audit_log.hpp"
#include "test/bench/real/connection.hpp"
#include "test/bench/real/process.hpp"

namespace bench {
namespace {

using Json = nlohmann::json;

constexpr double kQuiet = 3;  ///< seconds without a request until the run ends

double now() { return std::chrono::duration<double>(base::SystemClock().now().time_since_epoch()).count(); }

class Observer {
 public:
  explicit Observer(const RunToObserve& run) : run_(run), tail_(run.audit_log, run.audit_from) {}

  Json follow() {
    others_at_first_ = others_cpu();
    while (!is_over()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      for (const std::string& line : tail_.lines()) {
        if (const auto call = call_of(line)) take(*call);
      }
      sample();
    }
    return result();
  }

 private:
  void take(const Call& call) {
    if (call.resource == "leases") leases_.push_back(call.answered - call.received);
    if (!is_of_evictions(call)) return;
    newest_ = now();
    if (counts_.empty()) begin();
    ++counts_[call.verb + " " + call.resource];
    end_ = std::max(end_, call.answered);
    if (call.resource == "evacuations" && call.verb == "create") note_earliest(first_creation_, call.received);
    if (call.resource != "pods/eviction") return;
    calls_.push_back(call.answered - call.received);
    note_earliest(first_call_, call.received);
    if (call.code / 100 != 2) {
      ++refused_;
      return;
    }
    ++granted_;
    last_grant_ = std::max(last_grant_, call.answered);
    if (granted_ == run_.sample_at) cpu_at_sample_ = cpu_;
  }

  /// The log is in the order of the answers.
  static void note_earliest(double& earliest, double time) {
    if (earliest == 0 || time < earliest) earliest = time;
  }

  /// Called at the first request of an eviction. Earlier ones belong to the start.
  void begin() {
    cpu_at_first_ = cpu_;
    others_at_first_ = others_cpu();
  }

  /// Reads values that are unavailable once the process has ended.
  void sample() {
    const double cpu = cpu_seconds(run_.pid);
    alive_ = cpu >= 0;
    if (!alive_) return;
    cpu_ = cpu;
    seen_alive_ = now();
    peak_kib_ = std::max(peak_kib_, proc_status(run_.pid, "VmHWM"));
    threads_ = std::max(threads_, proc_status(run_.pid, "Threads"));
  }

  std::map<std::string, double> others_cpu() const {
    std::map<std::string, double> all;
    for (const auto& [name, pid] : run_.others) all[name] = cpu_seconds(pid);
    return all;
  }

  bool is_over() const {
    const double time = now();
    if (time - run_.started > run_.timeout) return true;
    const bool has_all = run_.evictions > 0 ? granted_ >= run_.evictions : granted_ > 0;
    if (!alive_) return time - seen_alive_ > kQuiet;
    return has_all && time - newest_ > kQuiet;
  }

  Json result() const {
    const double count = std::max(granted_, 1);
    Json requests = Json::object();
    double all = 0;
    for (const auto& [what, times] : counts_) {
      requests[what] = times / count;
      all += times / count;
    }
    Json result = {{"program", run_.program},
                   {"evictions", granted_},
                   {"evictions_refused", refused_},
                   {"evictions_per_s", granted_ / std::max(last_grant_ - first_call_, 1e-3)},
                   {"start_to_first_eviction_s", first_call_ - run_.started},
                   {"peak_rss_mib", peak_kib_ / 1024},
                   {"threads", threads_},
                   {"cpu_start_to_sample_s", cpu_at_sample_},
                   {"cpu_ms_an_eviction", (cpu_ - cpu_at_first_) * 1000 / count},
                   {"requests_an_eviction", all},
                   {"seconds_in_all", end_ - run_.started},
                   {"requests", std::move(requests)}};
    if (first_creation_ > 0) result["creation_to_first_eviction_s"] = first_call_ - first_creation_;
    add_times(result, "eviction_call", calls_);
    add_times(result, "lease_request", leases_);
    for (const auto& [name, cpu] : others_cpu())
      result["cpu_ms_an_eviction_" + name] = (cpu - others_at_first_.at(name)) * 1000 / count;
    return result;
  }

  /// Adds times as measured by the server, including its queues, without the network.
  static void add_times(Json& result, const std::string& what, std::vector<double> seconds) {
    if (seconds.empty()) return;
    std::ranges::sort(seconds);
    result[what + "_median_s"] = seconds[seconds.size() / 2];
    result[what + "_longest_s"] = seconds.back();
  }

  const RunToObserve& run_;
  Tail tail_;
  std::vector<double> calls_;
  std::vector<double> leases_;
  std::map<std::string, int> counts_;
  std::map<std::string, double> others_at_first_;
  int granted_ = 0;
  int refused_ = 0;
  double first_creation_ = 0;
  double first_call_ = 0;
  double last_grant_ = 0;
  double end_ = 0;
  double newest_ = 0;
  double seen_alive_ = 0;
  double cpu_ = 0;
  double cpu_at_first_ = 0;
  double cpu_at_sample_ = 0;
  double peak_kib_ = 0;
  double threads_ = 0;
  bool alive_ = true;
};

}  // namespace

void observe(const RunToObserve& run) { fmt::print("{}\n", Observer(run).follow().dump()); }

void observe_rest(const std::string& program, int pid, double seconds, const std::string& what) {
  const double before = cpu_seconds(pid);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double after = cpu_seconds(pid);
  if (before < 0 || after < 0) die("the process has ended");
  const Json result = {{"program", program},
                       {"cpu_" + what + "_percent", (after - before) * 100 / seconds},
                       {"threads_" + what, proc_status(pid, "Threads")},
                       {"rss_" + what + "_mib", proc_status(pid, "VmRSS") / 1024}};
  fmt::print("{}\n", result.dump());
}

}  // namespace bench
