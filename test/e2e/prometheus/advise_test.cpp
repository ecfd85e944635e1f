#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "advisor/nodes.hpp"
#include "advisor/requests.hpp"
#include "test/e2e/prometheus/real_prometheus.hpp"
#include "test/unit/usage/sources/fake_server.hpp"
#include "usage/sources/daily.hpp"

/// The queries of `advise` against a real Prometheus (Debian's package) with known history.
namespace advise_test {

using namespace advisor;

constexpr int kDays = 4;
constexpr double kMiB = 1024.0 * 1024;

/// Counters and gauges with one sample per minute.
class Past {
 public:
  explicit Past(base::TimePoint start) : start_(start) {}

  void add(const std::string& name, const char* type, const std::string& labels,
           const std::function<double(int minute)>& value, int first = 0) {
    std::string& text = families_[name];
    if (text.empty()) text = fmt::format("# TYPE {} {}\n", family_of(name), type);
    for (int minute = first; minute < kDays * 1440; ++minute) {
      const double at = value(minute);
      if (!std::isnan(at)) text += fmt::format("{}{{{}}} {} {}\n", name, labels, at, second(minute));
    }
  }
  std::string text() const {
    std::string all;
    for (const auto& [name, text] : families_) all += text;
    return all + "# EOF\n";
  }

 private:
  static std::string family_of(const std::string& name) {
    return name.ends_with("_total") ? name.substr(0, name.size() - 6) : name;
  }
  std::int64_t second(int minute) const {
    return std::chrono::duration_cast<base::seconds>(start_.time_since_epoch()).count() + 60LL * minute;
  }
  base::TimePoint start_;
  std::map<std::string, std::string> families_;
};

bool is_gap(int minute) { return minute >= 1440 + 600 && minute < 1440 + 720; }  // two hours of the second day

/// 100m, and 500m from 12:00 to 14:00. The counter restarts from 0 on the third day.
double web_seconds(int minute) {
  if (is_gap(minute)) return kUnknown;
  double sum = 0;
  for (int m = minute >= 2 * 1440 + 60 ? 2 * 1440 + 60 : 0; m < minute; ++m)
    sum += 60 * (m % 1440 >= 720 && m % 1440 < 840 ? 0.5 : 0.1);
  return sum;
}

std::string past_of(base::TimePoint start) {
  Past past(start);
  const auto first = static_cast<double>(start.time_since_epoch() / base::seconds(1));
  const std::string web = R"(namespace="shop",pod="web-7d4b9c6f5-bbbbb",container="app",job=)";
  for (const char* job : {R"("a")", R"("b")"})
    past.add("container_cpu_usage_seconds_total", "counter", web + job, web_seconds);
  past.add("container_memory_working_set_bytes", "gauge", web + R"("a")", [](int minute) {
    return is_gap(minute) ? kUnknown : (minute % 1440 == 182 ? 500 : 200) * kMiB;  // a peak between two steps
  });
  past.add("container_start_time_seconds", "gauge", web + R"("a")", [=](int) { return first - 1e6; });
  // Java starts at 6:00 on the second day and uses three cores for four minutes.
  const int starts = 1440 + 360;
  const std::string java = R"(namespace="shop",pod="web-7d4b9c6f5-ccccc",container="app",job="a")";
  past.add(
      "container_cpu_usage_seconds_total", "counter", java,
      [=](int minute) { return std::min(minute - starts, 4) * 180.0 + std::max(minute - starts - 4, 0) * 6.0; },
      starts);
  past.add(
      "container_memory_working_set_bytes", "gauge", java, [](int) { return 300 * kMiB; }, starts);
  past.add(
      "container_start_time_seconds", "gauge", java, [=](int) { return first + starts * 60.0; }, starts);
  past.add("container_cpu_cfs_periods_total", "counter", web + R"("a")", [](int minute) { return minute * 600.0; });
  past.add("container_cpu_cfs_throttled_periods_total", "counter", web + R"("a")",
           [](int minute) { return minute * 120.0; });
  past.add("container_oom_events_total", "counter", web + R"("a")",
           [](int minute) { return minute >= 2000 ? 1.0 : 0.0; });
  const auto group = [&](const char* id, double cores, double mib) {
    const std::string labels = fmt::format(R"(node="n1",id="{}")", id);
    past.add("container_cpu_usage_seconds_total", "counter", labels, [=](int minute) { return minute * 60 * cores; });
    past.add("container_memory_working_set_bytes", "gauge", labels,
             [=](int minute) { return (mib + (minute % 1440 == 700 ? 100 : 0)) * kMiB; });
  };
  group("/", 1.5, 4000);
  group("/kubepods.slice", 1, 3000);
  group("/system.slice/kubelet.service", 0.1, 100);
  group("/system.slice/containerd.service", 0.05, 60);
  past.add("node_pressure_cpu_waiting_seconds_total", "counter", R"(instance="n1:9100")",
           [](int minute) { return minute * 12.0; });
  return past.text();
}

/// Shared by all tests, because promtool needs half a minute for its history.
struct Server {
  Server()
      : end(std::chrono::floor<std::chrono::days>(base::SystemClock().now())),
        start(end - std::chrono::hours(24 * kDays)),
        prometheus(folder, {.open_metrics = past_of(start)}) {}

  const base::TimePoint end;
  const base::TimePoint start;
  e2e::Folder folder;
  e2e::RealPrometheus prometheus;
};

class RealAdvise : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<Server>(); }
  static void TearDownTestSuite() { server_.reset(); }
  RealAdvise() : end_(server_->end), start_(server_->start) { owners_.add_workload(kWeb, 1); }
  usage::DailyHistory history(usage::DailySettings settings = {}) {
    auto dependencies = world_.dependencies();
    dependencies.connect = usage::connect_http;
    api::UsageEndpoint endpoint;
    endpoint.url = "http://" + server_->prometheus.address();
    return {endpoint, dependencies, settings};
  }
  base::TimePoint end_of(int day) const { return start_ + std::chrono::hours(24 * (day + 1)); }

  DayUsage day(int which) {
    auto daily = history();
    const auto shards = daily.shards(end_of(which), usage::DailyHistory::kShardOfValues);
    EXPECT_TRUE(shards) << shards.error().message;
    EXPECT_EQ(shards->size(), 1U);
    DayFold fold(owners_, base::minutes(5));
    const auto expressions = usage::container_expressions({}, shards->at(0));
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      const auto told =
          daily.containers(expressions[i], end_of(which), [&](auto ns, auto pod, auto name, double value) {
            fold.add(static_cast<DayMetric>(i), ns, pod, name, value);
          });
      EXPECT_TRUE(told) << told.error().message;
    }
    Histories told;
    return fold.finish(told)[{kWeb, "app"}];
  }

  const WorkloadKey kWeb{"shop", "Deployment", "web"};
  const base::TimePoint end_;
  const base::TimePoint start_;
  static inline std::unique_ptr<Server> server_;
  usage_test::World world_;
  Owners owners_;
};

TEST_F(RealAdvise, DaysAreComputedInPrometheus) {
  const DayUsage first = day(0);
  EXPECT_NEAR(static_cast<double>(first.samples), 288, 1);
  EXPECT_NEAR(first.cpu_peak, 0.5, 0.005) << "what two jobs scrape counts once";
  EXPECT_NEAR(first.cpu_mean, (22 * 0.1 + 2 * 0.5) / 24, 0.002);
  EXPECT_NEAR(first.cpu_p95, 0.5, 0.005);
  EXPECT_EQ(first.memory_peak, 500 * kMiB) << "between two steps";
  EXPECT_NEAR(first.memory_mean, 200.2 * kMiB, 0.2 * kMiB);
  EXPECT_NEAR(first.throttled, 0.2, 0.001);
  EXPECT_EQ(first.oom_kills, 0U);
  EXPECT_TRUE(std::isnan(first.cpu_startup_peak));
}

TEST_F(RealAdvise, GapsStartUpsAndResetsAreNoPeaks) {
  const DayUsage second = day(1);
  EXPECT_NEAR(second.cpu_peak, 0.5, 0.02) << "not the three cores of a start";
  EXPECT_GT(second.cpu_startup_peak, 2);
  EXPECT_LT(second.cpu_startup_peak, 3.6);
  EXPECT_NEAR(static_cast<double>(second.samples), 288 - 24 + 216, 4)
      << "two hours of one pod, six of the other are missing";
  EXPECT_GE(second.oom_kills, 1U);
  EXPECT_LE(second.oom_kills, 2U);
  const DayUsage third = day(2);
  EXPECT_NEAR(third.cpu_peak, 0.5, 0.02) << "a counter that starts again";
}

TEST_F(RealAdvise, SinglePointsMakeAPercentile) {
  auto daily = history();
  Histories all;
  BucketFold fold(owners_, all);
  const std::string buckets = usage::steady_cpu_buckets({}, "", QuantileSketch::bucket_width());
  for (int which = 0; which < kDays; ++which) {
    const usage::Grid grid{end_of(which) - std::chrono::hours(24) + base::minutes(5), base::minutes(5), 288};
    const auto told = daily.numbers(
        {"cpu", buckets}, grid, [&](auto ns, auto pod, auto name, auto numbers) { fold.add(ns, pod, name, numbers); });
    ASSERT_TRUE(told) << told.error().message;
  }
  const auto& sketch = *all.containers.at({kWeb, "app"}).cpu;
  // One pod runs for four days except two hours, the other one for two days and 18 hours.
  EXPECT_NEAR(static_cast<double>(sketch.count()), 4 * 288 - 24 + 2.75 * 288, 20);
  EXPECT_NEAR(sketch.quantile(0.5), 0.1, 0.002);
  EXPECT_NEAR(sketch.quantile(0.99), 0.5, 0.01);
}

TEST_F(RealAdvise, NodesGetTheirReservations) {
  auto daily = history();
  NodeDays days;
  const auto expressions = usage::node_expressions({});
  for (int which = 0; which < kDays; ++which) {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      const auto told = daily.nodes(expressions[i], end_of(which), [&](std::string_view node, double value) {
        days[std::string(node)][which].values[i] = value;
      });
      ASSERT_TRUE(told) << told.error().message;
    }
  }
  const NodeSpec node{"n1", "large", 2, 1.4, 8000 * kMiB, 7000 * kMiB};
  const NodeAdvice advice = advise_nodes({node}, days, 288);
  ASSERT_EQ(advice.reservations.size(), 1U);
  const Reservation& large = advice.reservations[0];
  EXPECT_EQ(large.no_advice_reason, "");
  EXPECT_TRUE(large.is_split);
  EXPECT_NEAR(large.kube_cpu, 0.15, 0.011);
  EXPECT_NEAR(large.system_cpu, 0.35, 0.011);
  EXPECT_EQ(large.kube_memory, 448 * kMiB) << "(100 + 60 + 2 * 100) MiB + 15 %, in steps of 64 MiB";
  std::string reasons;
  for (const NodeFinding& finding : advice.findings) reasons += finding.reason + " ";
  EXPECT_EQ(reasons, "NodeAboveAllocatableCPU CPUPressure ");
}

TEST_F(RealAdvise, AWorkloadOfFourDaysIsAdvised) {
  Histories all;
  for (int which = 0; which < kDays; ++which) {
    all.containers[{kWeb, "app"}].days[day_of(start_) + which] = day(which);
  }
  const Rules rules{Profile::kCore, 95, day_of(start_), day_of(end_)};
  ContainerSpec spec;
  spec.resources = {1, {}, 1024 * kMiB, 1024 * kMiB};
  const Advice advice = advise_container(spec, all.containers.at({kWeb, "app"}), rules);
  EXPECT_EQ(advice.no_advice_reason, "");
  EXPECT_EQ(advice.days, kDays);
  EXPECT_EQ(advice.risk, Level::kHigh) << "throttled, and killed once";
  EXPECT_EQ(*advice.recommended.cpu_request, 1) << "throttled: not lowered";
  EXPECT_EQ(*advice.recommended.memory_limit, 1178 * kMiB) << "killed with a limit of 1 GiB";
}

}  // namespace advise_test
