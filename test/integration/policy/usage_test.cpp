#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// The requests are misleading: they are equal on all nodes, and one node is overloaded.
namespace usage_test {

using api::Json;
using base::minutes;
using base::seconds;
using testing::HasSubstr;

/// Reports the usage of pods by app. The usage of a node is the sum of its pods'.
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
    // The scheduler places by requests, which are equal on all nodes from here on.
    cordon("node-a", true);
    for (const char* node : {"node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    deploy("cold", 8);
    if (least_hot > 0) budget("hot", "hot", least_hot);
    cordon("node-a", false);
    usage_sources = [this](const api::UsageSource&) { return std::make_unique<Meter>(*cluster, clock, works); };
    start_operator();
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "level"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"evictability", evictability},
           {"schedule", {{"interval", "1m"}}},
           {"usageSources", Json::array({{{"name", "server"}, {"type", "MetricsServer"}, {"interval", "10s"}}})},
           {"strategies", Json::array({{{"name", "LowNodeUtilization"},
                                        {"args",
                                         {{"usage", {{"source", "server"}, {"softTaint", soft_taint}}},
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
  api::DeschedulerPolicyStatus status() const { return policy_status("level"); }
  std::string condition_of(const char* type) const { return policy_words("level", type); }

  bool works = true;
  Json evictability = Json::object();
  bool soft_taint = false;
  int least_hot = 0;  ///< minAvailable of the budget for "hot"; 0 for no budget
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

TEST_F(MeasuredLoad, WithoutMeasurementsMovesNothingAndSaysSo) {
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
  EXPECT_THAT(condition_of("UsageAvailable"), HasSubstr("SourceFailing: server: 3 of 3 nodes have no usable sample"));
  EXPECT_THAT(condition_of("UsageAvailable"), HasSubstr("; last answer: no answer: timeout"));
}

// --- soft taints

class SoftTaints : public MeasuredLoad {
 protected:
  SoftTaints() { soft_taint = true; }

  void begin_where_nothing_may_move() {
    evictability["minPodAge"] = "24h";
    begin();
  }
  Json taints_of(const std::string& node) const {
    const auto object = cluster->store().get(kube::kNodes, {"", node});
    return (*object)["spec"].value("taints", Json::array());
  }
  bool has_any() const {
    return std::ranges::any_of(std::vector{"node-a", "node-b", "node-c"}, [&](const char* node) {
      return std::ranges::any_of(taints_of(node),
                                 [](const Json& taint) { return taint["key"] == "evacuator.dev/loaded"; });
    });
  }
  bool get_some() {
    return run_until([&] { return has_any(); }, minutes(10));
  }
  bool lose_all(minutes limit) {
    return run_until([&] { return !has_any(); }, limit);
  }
  void delete_policy() {
    const auto answer =
        server->handle(kube::delete_request(kube::kPolicies, {"", "level"}, ""), {"alice", {}, "kubectl"});
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  static bool is_taint_write(const kube::Request& request) {
    return request.method == "PATCH" && request.path.starts_with("/api/v1/nodes/");
  }
  static std::optional<kube::Response> forbid(const kube::Request& request) {
    if (!is_taint_write(request)) return std::nullopt;
    const Json body = {
        {"kind", "Status"},
        {"apiVersion", "v1"},
        {"status", "Failure"},
        {"code", 403},
        {"reason", "Forbidden"},
        {"message", R"(nodes "node-a" is forbidden: User "evacuator" cannot patch resource "nodes" in API group "")"}};
    return kube::Response{.status = 403, .body = body.dump(), .retry_after = {}, .content_type = "application/json"};
  }
  void change_policy(const std::function<void(Json& spec)>& change) {
    edit(
        kube::kPolicies, "level", [&](Json& object) { change(object["spec"]); }, "");
  }

  void expect_gone_with(const char* field, const Json& value) {
    begin_where_nothing_may_move();
    ASSERT_TRUE(get_some());
    change_policy([&](Json& spec) { spec[field] = value; });
    EXPECT_TRUE(lose_all(minutes(3)));
  }

  const Json ours = {{"key", "evacuator.dev/loaded"}, {"value", "level"}, {"effect", "PreferNoSchedule"}};
};

TEST_F(SoftTaints, AreOnTheNodeThatBurnsAndGoWhenLoadIsLevel) {
  begin();
  const Json foreign = {{"key", "team"}, {"value", "x"}, {"effect", "PreferNoSchedule"}, {"note", "stays"}};
  edit(
      kube::kNodes, "node-a", [&](Json& node) { node["spec"]["taints"] = Json::array({foreign}); }, "");
  ASSERT_TRUE(get_some());
  EXPECT_EQ(taints_of("node-a"), Json::array({foreign, ours}));
  EXPECT_THAT(condition_of("SoftTaints"), HasSubstr("TaintsWritten: "));
  ASSERT_TRUE(run_until([&] { return hot_on("node-a") <= 2; }, minutes(30)));
  ASSERT_TRUE(lose_all(minutes(30)));
  EXPECT_EQ(taints_of("node-a"), Json::array({foreign}));
  run_for(minutes(60));
  EXPECT_FALSE(has_any()) << "level is level";
  EXPECT_LE(status().evicted, 2);
}

/// The next plan sees the pods as gone and the load as balanced.
class SoftTaintsOfWaitingMoves : public SoftTaints {
 protected:
  void begin_where_a_budget_holds_moves_up() {
    least_hot = 4;
    begin();
    ASSERT_TRUE(get_some());
    ASSERT_TRUE(run_until([&] { return waiting() > 0; }, minutes(30))) << "nothing is planned";
  }
  std::size_t waiting() const {
    const auto all = cluster->store().list(kube::kEvacuations, "shop");
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& each) {
      const std::string phase = (*each).value("status", Json::object()).value("phase", "");
      return phase != "Succeeded" && phase != "Failed" && phase != "Cancelled";
    }));
  }
};

TEST_F(SoftTaintsOfWaitingMoves, StayUntilTheMovesAreMade) {
  begin_where_a_budget_holds_moves_up();
  const auto waits_untainted = [&] { return waiting() > 0 && !has_any(); };
  EXPECT_FALSE(run_until(waits_untainted, minutes(12))) << "the taint went before the pods";
  EXPECT_EQ(hot_on("node-a"), 4U);
  ASSERT_GT(waiting(), 0U);
  (void)server->handle(kube::delete_request(kube::kPdbs, {"shop", "hot"}, ""), {"alice", {}, "kubectl"});
  ASSERT_TRUE(run_until([&] { return waiting() == 0; }, minutes(30)));
  EXPECT_LE(hot_on("node-a"), 2U);
  EXPECT_TRUE(lose_all(minutes(30)));
}

TEST_F(SoftTaintsOfWaitingMoves, StayOverARestart) {
  begin_where_a_budget_holds_moves_up();
  run_for(minutes(3));
  stop_operator();
  start_operator("replica-2");
  EXPECT_FALSE(run_until([&] { return waiting() > 0 && !has_any(); }, minutes(6)));
  ASSERT_GT(waiting(), 0U);
}

TEST_F(SoftTaints, GoWithTheirPolicy) {
  begin_where_nothing_may_move();
  ASSERT_TRUE(get_some());
  delete_policy();
  EXPECT_TRUE(lose_all(minutes(1)));
}

TEST_F(SoftTaints, GoWhenThePolicyIsSuspended) { expect_gone_with("suspend", true); }
TEST_F(SoftTaints, GoWhenThePolicyOnlyPlans) { expect_gone_with("mode", "DryRun"); }
TEST_F(SoftTaints, GoWhenAPersonAdmitsTheMoves) { expect_gone_with("mode", "Manual"); }

TEST_F(SoftTaints, GoWhenTheStrategyDoesNotAskForThemAnyMore) {
  begin_where_nothing_may_move();
  ASSERT_TRUE(get_some());
  change_policy([](Json& spec) { spec["strategies"][0]["args"]["usage"]["softTaint"] = false; });
  EXPECT_TRUE(lose_all(minutes(3)));
  EXPECT_EQ(condition_of("SoftTaints"), "");
}

TEST_F(SoftTaints, StayOverARestartWhileThePolicyWantsThem) {
  begin_where_nothing_may_move();
  ASSERT_TRUE(get_some());
  stop_operator();
  start_operator("replica-2");
  bool stayed = true;
  replica->transport.after_each_call = [&] { stayed = stayed && has_any(); };
  run_for(minutes(5));
  EXPECT_TRUE(stayed);
}

TEST_F(SoftTaints, OfAPolicyDeletedDuringAnOutageGoAfterARestart) {
  begin_where_nothing_may_move();
  ASSERT_TRUE(get_some());
  stop_operator();
  delete_policy();
  start_operator("replica-2");
  EXPECT_TRUE(lose_all(minutes(1)));
}

TEST_F(SoftTaints, StayForAFewCyclesThatCannotJudge) {
  begin_where_nothing_may_move();
  ASSERT_TRUE(get_some());
  works = false;
  run_for(minutes(2));
  EXPECT_TRUE(has_any()) << "samples are fresh for two minutes, and three cycles keep what was wanted";
  EXPECT_TRUE(lose_all(minutes(10)));
}

TEST_F(SoftTaints, AreNotThereWithoutTheRightAndTheConditionSaysSo) {
  begin_where_nothing_may_move();
  replica->transport.lie = forbid;
  run_for(minutes(5));
  EXPECT_FALSE(has_any());
  EXPECT_THAT(condition_of("SoftTaints"), HasSubstr("Forbidden: no soft taints are written: "));
  EXPECT_THAT(condition_of("SoftTaints"), HasSubstr("config/optional/soft-taints.yaml"));
  replica->transport.lie = {};
  EXPECT_TRUE(run_until([&] { return has_any(); }, minutes(15))) << "tried again by itself";
  run_for(minutes(2));
  EXPECT_THAT(condition_of("SoftTaints"), HasSubstr("TaintsWritten: 1 node has"));
}

TEST_F(SoftTaints, WithoutTheRightTheLoadIsLevelledAllTheSame) {
  begin();
  replica->transport.lie = forbid;
  EXPECT_TRUE(run_until([&] { return hot_on("node-a") <= 2; }, minutes(30)));
  EXPECT_FALSE(has_any());
}

TEST_F(SoftTaints, LoseNoTaintOfAConcurrentWriter) {
  begin_where_nothing_may_move();
  const Json foreign = {{"key", "team"}, {"effect", "NoExecute"}, {"timeAdded", "2026-11-21T12:00:00Z"}};
  bool was_put = false;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    if (was_put || !is_taint_write(request)) return;
    was_put = true;
    edit(
        kube::kNodes, request.path.substr(std::string("/api/v1/nodes/").size()),
        [&](Json& node) { node["spec"]["taints"] = Json::array({foreign}); }, "");
  };
  ASSERT_TRUE(get_some());
  ASSERT_TRUE(was_put);
  EXPECT_EQ(taints_of("node-a"), Json::array({foreign, ours}));
}

}  // namespace usage_test
