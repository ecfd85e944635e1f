#include "test/bench/real/observe.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "test/bench/real/connection.hpp"
#include "test/bench/real/process.hpp"

namespace bench {
namespace {

using Json = nlohmann::json;

constexpr double kQuiet = 3;  ///< seconds without a request: the run is over

double seconds_of(const base::TimePoint& time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double now() { return seconds_of(base::SystemClock().now()); }

/// A finished request of the audit log.
struct Call {
  double received = 0;
  double answered = 0;
  std::string verb;      ///< "create"
  std::string resource;  ///< "pods/eviction"
  int code = 0;
};

double time_at(const Json& record, const char* field) {
  const auto time = base::parse_time(record.value(field, ""));
  return time ? seconds_of(*time) : 0;
}

/// nullopt: not of the program, or not about an object.
std::optional<Call> call_of(const std::string& line) {
  const Json record = Json::parse(line, nullptr, false);
  if (!record.is_object() || record.value("stage", "") != "ResponseComplete" || !record.contains("objectRef"))
    return std::nullopt;
  const std::string user = record.contains("user") ? record["user"].value("username", "") : "";
  const std::string agent = record.value("userAgent", "");
  const bool is_ours = user.starts_with("system:serviceaccount:evacuator-system:");
  if ((user.starts_with("system:") && !is_ours) || agent.starts_with(kUserAgent) || agent.starts_with("kubectl"))
    return std::nullopt;
  const Json& object = record["objectRef"];
  const std::string sub = object.value("subresource", "");
  Call call;
  call.received = time_at(record, "requestReceivedTimestamp");
  call.answered = time_at(record, "stageTimestamp");
  call.verb = record.value("verb", "");
  call.resource = object.value("resource", "") + (sub.empty() ? "" : "/" + sub);
  if (record.contains("responseStatus")) call.code = record["responseStatus"].value("code", 0);
  return call;
}

/// Neither lists, watches, Leases and reviews, nor what belongs to a policy or the start.
bool is_of_evictions(const Call& call) {
  static const std::vector<std::string> kResources = {"pods",   "pods/eviction",      "evacuations",
                                                      "events", "evacuations/status", "persistentvolumeclaims"};
  return call.verb != "list" && call.verb != "watch" &&
         std::ranges::find(kResources, call.resource) != kResources.end();
}

/// New whole lines of a file that grows.
class Tail {
 public:
  Tail(const std::string& path, long from) : file_(path) { file_.seekg(from); }

  std::vector<std::string> lines() {
    std::vector<std::string> whole;
    file_.clear();
    char buffer[1 << 16];
    for (;;) {
      file_.read(buffer, sizeof buffer);
      if (file_.gcount() <= 0) break;
      rest_.append(buffer, static_cast<std::size_t>(file_.gcount()));
    }
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      whole.push_back(rest_.substr(begin, end - begin));
    rest_.erase(0, begin);
    return whole;
  }

 private:
  std::ifstream file_;
  std::string rest_;
};

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
    if (call.resource != "pods/eviction") return;
    calls_.push_back(call.answered - call.received);
    if (first_call_ == 0 || call.received < first_call_) first_call_ = call.received;
    if (call.code / 100 != 2) {
      ++refused_;
      return;
    }
    ++granted_;
    last_grant_ = std::max(last_grant_, call.answered);
    if (granted_ == run_.sample_at) cpu_at_sample_ = cpu_;
  }

  /// The first request about an eviction: what comes before is the start.
  void begin() {
    cpu_at_first_ = cpu_;
    others_at_first_ = others_cpu();
  }

  /// What cannot be read any more once the process has ended.
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
    add_times(result, "eviction_call", calls_);
    add_times(result, "lease_request", leases_);
    for (const auto& [name, cpu] : others_cpu())
      result["cpu_ms_an_eviction_" + name] = (cpu - others_at_first_.at(name)) * 1000 / count;
    return result;
  }

  /// As the server sees them: its own queues are in them, the network is not.
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

void observe_rest(const std::string& program, int pid, double seconds) {
  const double before = cpu_seconds(pid);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double after = cpu_seconds(pid);
  if (before < 0 || after < 0) die("the process has ended");
  const Json result = {{"program", program},
                       {"cpu_at_rest_percent", (after - before) * 100 / seconds},
                       {"threads_at_rest", proc_status(pid, "Threads")},
                       {"rss_at_rest_mib", proc_status(pid, "VmRSS") / 1024}};
  fmt::print("{}\n", result.dump());
}

}  // namespace bench
