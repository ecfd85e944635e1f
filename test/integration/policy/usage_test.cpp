#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// Requests lie: every node has the same, and one burns.
namespace usage_test {

using api::Json;
using base::minutes;
using base::seconds;
using testing::HasSubstr;

/// What pods use, by their app; what nodes use is the sum of theirs.
class Meter final : public usage::Source {
 public:
  Meter(simulator::Cluster& cluster, const base::Clock& clock, const bool& works)
      : cluster_(cluster), clock_(clock), works_(works) {}

  base::Result<usage::Samples> sample() override {
    if (!works_) return base::unavailable("no answer: timeout");
    usage::Samples samples;
    samples.columns = samples.pod_columns = {{"cpu", usage::Unit::kAmount}};
    std::map<std::string, double> nodes = {{"node-a", 0}, {"node-b", 0}, {"node-c", 0}};
    for (const auto& object : cluster_.store().list(kube::kPods, "shop")) {
      if ((*object)["status"].value("phase", "") != "Running") continue;
      const double load = (*object)["metadata"]["labels"].value("app", "") == "hot" ? 1.5 : 0.1;
      nodes[(*object)["spec"].value("nodeName", "")] += load;
      samples.pods.push_back({"shop", (*object)["metadata"]["name"]});
      samples.pod_values.push_back(load);
    }
    for (const auto& [name, load] : nodes) samples.nodes.push_back({name, clock_.now(), {load}});
    return samples;
  }
  base::Result<std::vector<usage::Series>> history(base::TimePoint, base::TimePoint, base::Duration) override {
    return base::Error{base::ErrorCode::kUnsupported, "it keeps none"};
  }

 private:
  simulator::Cluster& cluster_;
  const base::Clock& clock_;
  const bool& works_;
};

class MeasuredLoad : public integration::Rig {
 protected:
  void begin() {
    namespace objects = simulator::objects;
    add(objects::name_space("shop"));
    add(objects::node("node-a", "8", "16Gi"));
    deploy("hot", 4);
    // The scheduler goes by requests: from here on they are the same everywhere.
    cordon("node-a", true);
    for (const char* node : {"node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    deploy("cold", 8);
    cordon("node-a", false);
    usage_sources = [this](const api::UsageSource&) { return std::make_unique<Meter>(*cluster, clock, works); };
    start_operator();
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "level"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", "1m"}}},
           {"usageSources", Json::array({{{"name", "server"}, {"type", "MetricsServer"}, {"interval", "10s"}}})},
           {"strategies", Json::array({{{"name", "LowNodeUtilization"},
                                        {"args",
                                         {{"usage", {{"source", "server"}}},
                                          {"thresholds", {{"cpu", 35}}},
                                          {"targetThresholds", {{"cpu", 50}}}}}}})}}}});
  }
  void deploy(const std::string& app, int replicas) {
    add(simulator::objects::deployment("shop", app, replicas, "500m", "64Mi"));
    ASSERT_TRUE(run_until([&] { return pods(app).size() == static_cast<std::size_t>(replicas); }, minutes(5)));
    run_for(seconds(60));
  }
  void cordon(const std::string& node, bool value) {
    edit(
        kube::kNodes, node, [&](Json& object) { object["spec"]["unschedulable"] = value; }, "");
  }
  std::size_t hot_on(const std::string& node) const {
    std::size_t count = 0;
    for (const auto& object : cluster->store().list(kube::kPods, "shop")) {
      const bool is_hot = (*object)["metadata"]["labels"].value("app", "") == "hot";
      if (is_hot && (*object)["spec"].value("nodeName", "") == node) ++count;
    }
    return count;
  }
  api::DeschedulerPolicyStatus status() const {
    const auto policy = api::decode_descheduler_policy(*cluster->store().get(kube::kPolicies, {"", "level"}));
    EXPECT_TRUE(policy) << policy.error().message;
    return policy->status;
  }
  std::string condition_of(const char* type) const {
    const auto now = status();
    const auto* found = api::find_condition(now.conditions, type);
    return found ? found->reason + ": " + found->message : "";
  }

  bool works = true;
};

TEST_F(MeasuredLoad, IsLevelledWhereRequestsAreAlreadyAndThenNothingMoves) {
  begin();
  ASSERT_EQ(hot_on("node-a"), 4U);
  ASSERT_TRUE(run_until([&] { return hot_on("node-a") <= 2; }, minutes(30))) << condition_of("UsageAvailable");
  EXPECT_THAT(condition_of("UsageAvailable"), HasSubstr("FreshSamples"));
  run_for(minutes(20));
  const std::int64_t moved = status().evicted;
  EXPECT_LE(moved, 2) << "no overshoot";
  EXPECT_GE(hot_on("node-a"), 1U);
  run_for(minutes(60));
  EXPECT_EQ(status().evicted, moved);
  EXPECT_THAT(condition_of("Converged"), HasSubstr("Converged: LowNodeUtilization: cpu"));
  ASSERT_FALSE(status().balance.empty());
  EXPECT_EQ(status().balance[0].state, "Converged");
}

TEST_F(MeasuredLoad, ThatNobodyMeasuresMovesNothingAndSaysSo) {
  works = false;
  begin();
  run_for(minutes(10));
  EXPECT_EQ(status().evicted, 0);
  EXPECT_EQ(hot_on("node-a"), 4U);
  EXPECT_EQ(condition_of("UsageAvailable"), "SourceFailing: server: no answer: timeout");
  works = true;
  ASSERT_TRUE(run_until([&] { return hot_on("node-a") <= 2; }, minutes(30))) << "it goes on by itself";
}

TEST_F(MeasuredLoad, ThatGoesStaleInTheMiddleMovesNothingMore) {
  begin();
  ASSERT_TRUE(run_until([&] { return hot_on("node-a") == 3; }, minutes(30)));
  works = false;
  run_for(minutes(10));
  const std::int64_t moved = status().evicted;
  run_for(minutes(30));
  EXPECT_EQ(status().evicted, moved);
  EXPECT_THAT(condition_of("UsageAvailable"), HasSubstr("SamplesMissing: server: 3 of 3 nodes have no good sample"));
}

}  // namespace usage_test
