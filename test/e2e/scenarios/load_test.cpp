// End-to-end scenario 15: requests are balanced and load is not. Measured load is leveled without overshoot, then
// nothing moves. metrics.k8s.io is served as custom resources of that group, which needs no aggregation layer. Scenario
// 16: a daily load cycle in the history of a real Prometheus, where the move happens hours before the peak.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "test/e2e/harness/meter.hpp"
#include "test/e2e/harness/process.hpp"
#include "test/e2e/harness/scenario.hpp"
#include "test/e2e/prometheus/real_prometheus.hpp"

namespace e2e {
namespace load_test {

constexpr int kHot = 6;
constexpr int kCool = 18;
constexpr double kHotUse = 0.125;  // usage of a pod as a share of a node
constexpr double kCoolUse = 0.0125;

class Load : public Scenario {
 protected:
  /// Creates six hot pods on one node and six cool ones on each of the others, with equal requests on all nodes.
  /// Returns the hot node.
  std::string burn() {
    await_quiet();
    const std::vector<std::string> all = nodes();
    for (std::size_t i = 1; i < all.size(); ++i) cordon(all[i]);
    deploy({.ns = ns(), .name = "hot", .replicas = kHot});
    for (std::size_t i = 1; i < all.size(); ++i) uncordon(all[i]);
    cordon(all.front());
    deploy({.ns = ns(), .name = "cool", .replicas = kCool});
    uncordon(all.front());
    return all.front();
  }
  Json policy_object() const {
    const Json source = {
        {"name", "metrics"}, {"type", "MetricsServer"}, {"interval", "5s"}, {"smoothing", {{"method", "Latest"}}}};
    const Json strategy = {
        {"name", "LowNodeUtilization"},
        {"args",
         {{"usage", {{"source", "metrics"}, {"softTaint", true}, {"hysteresis", {{"samples", 2}, {"of", 3}}}}},
          {"thresholds", {{"cpu", 30}}},
          {"targetThresholds", {{"cpu", 50}}}}}};
    return manifest::pod_life_time_policy(
        ns(), ns(), 1,
        {{"mode", "Automatic"}, {"usageSources", Json::array({source})}, {"strategies", Json::array({strategy})}});
  }
  Json policy() const { return api().get(path::policies(ns())); }
  double cores() const { return cpu_of_nodes() / 1000.0; }
  /// Returns the output of a command run by a user.
  std::string output_of(const std::vector<std::string>& command) const {
    const Finished done =
        run(command, {}, std::chrono::seconds(60),
            {{"KUBECONFIG", cluster().admin_kubeconfig().string()}, {"PATH", path_with(EVACUATOR_PLUGIN_FOLDER)}});
    if (!done.ok()) ADD_FAILURE() << command.at(1) << ": " << done.err;
    return done.out;
  }
  /// Returns the moves of a new plan for the current state.
  Json what_if() const {
    write_file(folder() / "dump.json", kubectl()({"get", "nodes,pods,replicasets,namespaces,pdb", "-A", "-o", "json"}));
    write_file(folder() / "policy.json", policy_object().dump());
    return Json::parse(output_of({EVACUATOR_BINARY, "simulate", "--snapshot", folder() / "dump.json", "--policy",
                                  folder() / "policy.json", "--usage", "live", "-o", "json"}));
  }
};

TEST_F(Load, IsLevelledWhereRequestsAreAlready) {
  if (!cluster().has_rbac()) GTEST_SKIP() << "the simulator serves no metrics.k8s.io; test/integration/policy has this";
  grant("usage-metrics-server");
  grant("soft-taints");
  const std::string burning = burn();
  Meter meter(api(), kubectl(), {.ns = ns(), .cores = cores(), .use = [](const Json& pod) {
                                   return text_at(pod, "/metadata/labels/app") == "hot" ? kHotUse : kCoolUse;
                                 }});
  ASSERT_EQ(meter.measure().at(burning), kHot * kHotUse);
  start_operator();
  apply_policy(policy_object());

  await("the load to be level", [&](std::string& seen) {
    const double load = meter.measure().at(burning);
    seen = std::to_string(load) + " of the node is used; " + text_at(policy(), "/status");
    return load <= 0.5;
  });
  await_pods(ns(), "hot", kHot);
  std::set<std::string> cycles;
  await("ten more cycles", [&](std::string&) {
    meter.measure();
    cycles.insert(text_at(policy(), "/status/lastCycle/id"));
    return cycles.size() > 10;
  });
  const std::string usage = output_of({kubectl_binary(), "evacuator", "usage", ns()});
  const Json foreseen = what_if();
  const Json end = policy();

  EXPECT_LE(number_at(end, "/status/evicted"), 3) << "no overshoot: level is 50 % less a quarter of the band";
  EXPECT_GE(meter.measure().at(burning), 0.25);
  EXPECT_EQ(text_at(condition(end, "UsageAvailable"), "/status"), "True") << end.at("status").dump();
  EXPECT_NE(usage.find(burning), std::string::npos) << usage;
  EXPECT_EQ(foreseen.at("moves").size(), 0U) << foreseen.dump();
  note("measured load levelled with " + text_at(end, "/status/evicted") + " evictions, then at rest for ten cycles");
  expect_no_misdeeds();
}

// --- daily load cycle

constexpr double kTargetPercent = 50;
constexpr int kHours = 3600;

/// Returns a deterministic value in -1 … 1 for each number.
double noise(std::int64_t number) {
  auto mixed = static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9U;
  return static_cast<double>((mixed ^ mixed >> 29) % 2001) / 1000 - 1;
}

/// Each day has its peak at `peak`'s time of day. Six hot pods use 40 % of a node six hours before the peak and 65 % at
/// the peak.
class Wave {
 public:
  explicit Wave(std::time_t peak) : peak_(peak) {}
  /// Returns a hot pod's usage as a share of a node.
  double share_at(std::time_t time) const {
    const double days = std::difftime(time, peak_) / (24 * kHours);
    return 0.025 + 0.08325 * (1 + std::cos(2 * std::numbers::pi * days)) / 2 + 0.0005 * noise(time / 60);
  }
  double at_peak() const { return share_at(peak_); }

 private:
  std::time_t peak_;
};

class ForecastLoad : public Load {
 protected:
  /// Returns a history of two weeks with the pods on their current nodes.
  std::string past(const std::string& burning, std::time_t now) const {
    std::string text = "# TYPE node_cores gauge\n";
    for (const std::string& node : nodes()) {
      for (std::time_t at = now - 14 * 24 * kHours; at < now - 60; at += 300)
        text += sample(node, node == burning ? kHot * wave.share_at(at) : kHot * kCoolUse) + " " + std::to_string(at) +
                "\n";
    }
    return text + "# EOF\n";
  }
  std::string sample(const std::string& node, double share) const {
    return "node_cores{node=\"" + node + "\"} " + std::to_string(share * cores_);
  }
  std::map<std::string, int> hot_pods() const {
    std::map<std::string, int> counts;
    for (const Json& pod : api().list(path::pods(ns()))) {
      if (text_at(pod, "/metadata/labels/app") == "hot" && text_at(pod, "/status/phase") == "Running")
        ++counts[text_at(pod, "/spec/nodeName")];
    }
    return counts;
  }
  /// Returns the current metrics of an exporter.
  std::string exposition() const {
    std::map<std::string, double> loads;
    for (const std::string& node : nodes()) loads[node] = 0;
    std::string pods = "# TYPE pod_cores gauge\n";
    for (const Json& pod : api().list(path::pods(ns()))) {
      if (text_at(pod, "/status/phase") != "Running") continue;
      const bool is_hot = text_at(pod, "/metadata/labels/app") == "hot";
      const double use = is_hot ? wave.share_at(std::time(nullptr)) : kCoolUse;
      loads[text_at(pod, "/spec/nodeName")] += use;
      pods += "pod_cores{namespace=\"" + ns() + "\",pod=\"" + text_at(pod, "/metadata/name") + "\"} " +
              std::to_string(use * cores_) + "\n";
    }
    std::string text = "# TYPE node_cores gauge\n";
    for (const auto& [node, load] : loads) text += sample(node, load) + "\n";
    return text + pods;
  }
  Json wave_policy(const RealPrometheus& prometheus, bool forecast) const {
    const auto query = [](const char* of, const char* text) {
      return Json{{"resource", "cpu"}, {"of", of}, {"query", text}};
    };
    const Json source = {{"name", "prometheus"},
                         {"type", "Prometheus"},
                         {"interval", "5s"},
                         {"smoothing", {{"method", "Latest"}}},
                         {"forecast", {{"horizon", "8h"}, {"percentile", 50}, {"history", "336h"}}},
                         {"prometheus",
                          {{"url", "http://" + prometheus.address()},
                           {"queries", Json::array({query("Node", "node_cores"), query("Pod", "pod_cores")})}}}};
    return manifest::pod_life_time_policy(
        ns(), ns(), 1,
        {{"mode", "Automatic"},
         {"usageSources", Json::array({source})},
         {"strategies",
          Json::array({{{"name", "LowNodeUtilization"},
                        {"args",
                         {{"usage", {{"source", "prometheus"}, {"softTaint", true}, {"forecast", forecast}}},
                          {"thresholds", {{"cpu", 30}}},
                          {"targetThresholds", {{"cpu", kTargetPercent}}}}}}})}});
  }
  void await_cycles(std::size_t count) const {
    std::set<std::string> cycles;
    await(std::to_string(count) + " cycles", [&](std::string& seen) {
      seen = text_at(policy(), "/status");
      cycles.insert(text_at(policy(), "/status/lastCycle/id"));
      return cycles.size() > count;
    });
  }

  const Wave wave{std::time(nullptr) + 6 * kHours};
  const double cores_ = cores();
};

TEST_F(ForecastLoad, IsLevelledHoursBeforeItsPeak) {
  if (!cluster().has_rbac()) GTEST_SKIP() << "test/integration/policy/forecast_test.cpp has this in virtual time";
  grant("soft-taints");
  const std::string burning = burn();
  Exporter exporter([this] { return exposition(); });
  const Folder data;
  const RealPrometheus prometheus(data, {.scrape = exporter.port(), .open_metrics = past(burning, std::time(nullptr))});
  start_operator();

  apply_policy(wave_policy(prometheus, false));
  await("the source to answer", [&](std::string& seen) {
    seen = text_at(policy(), "/status");
    return text_at(condition(policy(), "UsageAvailable"), "/status") == "True";
  });
  await_cycles(3);
  EXPECT_EQ(number_at(policy(), "/status/evicted"), 0) << "as it is now, the node has room";

  apply_policy(wave_policy(prometheus, true));
  await("the peak to fit the node", [&](std::string& seen) {
    seen = text_at(policy(), "/status");
    return hot_pods()[burning] * wave.at_peak() <= kTargetPercent / 100;
  });
  const double load_then = kHot * wave.share_at(std::time(nullptr)) * 100;
  await_pods(ns(), "hot", kHot);
  await_cycles(10);
  const Json end = policy();

  EXPECT_LT(load_then, kTargetPercent - 5) << "the move came before the node was full";
  EXPECT_EQ(text_at(condition(end, "ForecastTrusted"), "/status"), "True") << end.at("status").dump();
  EXPECT_LE(number_at(end, "/status/evicted"), 3) << "no overshoot";
  for (const auto& [node, count] : hot_pods())
    EXPECT_LE(count * wave.at_peak(), kTargetPercent / 100) << node << " burns when the peak comes";
  note("the wave was levelled six hours before its peak with " + text_at(end, "/status/evicted") + " evictions");
  expect_no_misdeeds();
}

}  // namespace load_test
}  // namespace e2e
