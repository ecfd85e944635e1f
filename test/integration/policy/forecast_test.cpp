#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// A daily load cycle: at noon the node has free capacity, at eight in the evening it would be overloaded. Days differ,
/// and samples are noisy.
namespace forecast_test {

using api::Json;
using base::minutes;
using std::chrono::days;
using std::chrono::hours;
using testing::HasSubstr;

constexpr double kCores = 8;  ///< of each node
constexpr double kCold = 0.1;

/// Returns a deterministic value in -1 … 1 for each number.
double noise(std::int64_t number) {
  auto mixed = static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9U;
  return static_cast<double>((mixed ^ mixed >> 29) % 2001) / 1000 - 1;
}

/// Returns the cores that a hot pod uses: 0.5 at eight in the morning, about 1.25 at eight in the evening.
double hot_at(base::TimePoint time) {
  constexpr auto kTrough = hours(8);
  const auto day = std::chrono::floor<days>(time - kTrough);
  const double part = std::chrono::duration<double>(time - kTrough - day) / std::chrono::duration<double>(days(1));
  const double height = 1 + 0.1 * noise(day.time_since_epoch().count());
  const double rise = (1 - std::cos(2 * std::numbers::pi * part)) / 2;
  return 0.5 + 0.75 * height * rise + 0.02 * noise(time.time_since_epoch() / minutes(1));
}

/// Reports usage by app, and a history in which the pods were on their current nodes.
class Meter final : public usage::Source {
 public:
  Meter(simulator::Cluster& cluster, const base::Clock& clock) : cluster_(cluster), clock_(clock) {}

  base::Result<usage::Samples> sample() override {
    usage::Samples samples;
    samples.columns = samples.pod_columns = {{"cpu", usage::Unit::kAmount}};
    std::map<std::string, double> nodes = {{"node-a", 0}, {"node-b", 0}, {"node-c", 0}};
    for (const auto& object : cluster_.store().list(kube::kPods, "shop")) {
      if ((*object)["status"].value("phase", "") != "Running") continue;
      const bool is_hot = (*object)["metadata"]["labels"].value("app", "") == "hot";
      const double used = is_hot ? hot_at(clock_.now()) : kCold;
      nodes[(*object)["spec"].value("nodeName", "")] += used;
      samples.pods.push_back({"shop", (*object)["metadata"]["name"]});
      samples.pod_values.push_back(used);
    }
    for (const auto& [name, used] : nodes) samples.nodes.push_back({name, clock_.now(), {used}});
    return samples;
  }
  base::Result<std::vector<usage::Series>> history(base::TimePoint from, base::TimePoint to,
                                                   base::Duration step) override {
    std::vector<usage::Series> all = {
        {"node-a", "cpu", from, step, {}}, {"node-b", "cpu", from, step, {}}, {"node-c", "cpu", from, step, {}}};
    for (base::TimePoint time = from; time < to; time += step) {
      for (usage::Series& each : all)
        each.values.push_back(static_cast<float>(4 * (each.node == "node-a" ? hot_at(time) : kCold)));
    }
    return all;
  }

 private:
  simulator::Cluster& cluster_;
  const base::Clock& clock_;
};

class ForecastWave : public integration::Rig {
 protected:
  void begin(bool forecast) {
    namespace objects = simulator::objects;
    add(objects::name_space("shop"));
    add(objects::node("node-a", "8", "16Gi"));
    deploy("hot", 4);
    cordon(true);
    for (const char* node : {"node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    deploy("cold", 8);
    cordon(false);
    usage_sources = [this](const api::UsageSource&) { return std::make_unique<Meter>(*cluster, clock); };
    start_operator();
    Json source = {{"name", "server"}, {"type", "MetricsServer"}, {"interval", "1m"}};
    if (forecast) source["forecast"] = {{"horizon", "2h"}, {"percentile", 50}, {"history", "336h"}};
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "level"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", "5m"}}},
           {"usageSources", Json::array({source})},
           {"strategies", Json::array({{{"name", "LowNodeUtilization"},
                                        {"args",
                                         {{"usage", {{"source", "server"}, {"forecast", forecast}}},
                                          {"thresholds", {{"cpu", 35}}},
                                          {"targetThresholds", {{"cpu", kTarget}}}}}}})}}}});
  }
  void deploy(const std::string& app, int replicas) {
    add(simulator::objects::deployment("shop", app, replicas, "500m", "64Mi"));
    ASSERT_TRUE(run_until([&] { return pods(app).size() == static_cast<std::size_t>(replicas); }, minutes(5)));
    run_for(minutes(1));
  }
  void cordon(bool value) {
    edit(
        kube::kNodes, "node-a", [&](Json& object) { object["spec"]["unschedulable"] = value; }, "");
  }
  int hot_on(const std::string& node) const {
    int count = 0;
    for (const auto& object : cluster->store().list(kube::kPods, "shop")) {
      const bool is_hot = (*object)["metadata"]["labels"].value("app", "") == "hot";
      if (is_hot && (*object)["spec"].value("nodeName", "") == node) ++count;
    }
    return count;
  }
  /// Returns the percentage of node-a that its hot pods use.
  double load() const { return 100 * hot_on("node-a") * hot_at(clock.now()) / kCores; }
  bool wait_for_the_move() {
    return run_until([&] { return hot_on("node-a") < 4; }, hours(8));
  }
  api::DeschedulerPolicyStatus status() const { return policy_status("level"); }
  std::string forecasts() const { return policy_words("level", "ForecastTrusted"); }

  static constexpr double kTarget = 50;
  static constexpr base::TimePoint kEvening =
      base::TimePoint(std::chrono::sys_days(std::chrono::year(2026) / 11 / 21)) + hours(21);
};

TEST_F(ForecastWave, IsLevelledBeforeItsPeak) {
  begin(true);
  run_for(minutes(10));
  const double before = load();
  ASSERT_TRUE(wait_for_the_move()) << forecasts();
  EXPECT_LT(100 * 4 * hot_at(clock.now()) / kCores, kTarget - 3) << "the node was not full yet";
  EXPECT_GT(100 * 4 * hot_at(clock.now()) / kCores, before) << "it waited until the peak was in sight";
  double highest = 0;
  while (clock.now() < kEvening) {
    run_for(minutes(10));
    highest = std::max(highest, load());
  }
  EXPECT_LT(highest, kTarget) << "of node-a, over the peak; without a move it is 62 %";
  EXPECT_LE(status().evicted, 2) << "no overshoot";
}

/// Control for the test above: without a forecast nothing moves until the node is full.
TEST_F(ForecastWave, IsLevelledAfterTheNodeIsFullWithoutAForecast) {
  begin(false);
  ASSERT_TRUE(wait_for_the_move());
  EXPECT_GT(100 * 4 * hot_at(clock.now()) / kCores, kTarget);
}

}  // namespace forecast_test
