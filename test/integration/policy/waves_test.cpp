#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/fragmented_stage.hpp"

/// Defragmentation plans that are carried out in waves, and what may delay one.
namespace waves_test {

using api::Json;
using base::minutes;
using testing::HasSubstr;
namespace objects = simulator::objects;

/// Node "keep" has capacity for the pod "lone" of node "leave", which gives a plan of one move in one wave.
class Waves : public integration::FragmentedStage {
 protected:
  /// `stops` is the termination time of the pod.
  void begin(const char* interval, const char* stops = "5s") {
    add(objects::name_space("shop"));
    add(objects::node("keep", "4", "16Gi"));
    deploy(objects::deployment("shop", "web", 2, "1", "64Mi"), "web", 2);
    add(objects::node("leave", "4", "16Gi"));
    Json lone = objects::deployment("shop", "lone", 1, "500m", "64Mi");
    objects::annotate_pods(lone, simulator::behaviour::kStopSeconds, stops);
    objects::template_of(lone)["spec"]["terminationGracePeriodSeconds"] = 7 * 86'400;
    deploy(lone, "lone", 1);
    ASSERT_EQ(nodes_in_use().size(), 2U);
    start_operator();
    add_policy(interval);
  }
  void add_policy(const char* interval) { add_automatic_policy("defragment", interval, {{"name", "Defragmentation"}}); }
  api::DeschedulerPolicyStatus status() const { return policy_status("defragment"); }
  std::string cycle() const {
    const auto last = status().last_cycle;
    return last ? last->id : "";
  }
  std::string condition_of(const char* type) const { return policy_words("defragment", type); }
  /// Returns true if the pod "lone" terminates and the status contains the plan.
  bool is_leaving() const { return tainted() == 1 && evacuation_count() == 1 && granted() == 1; }
  bool is_done() const { return nodes_in_use() == std::set<std::string>{"keep"}; }

  static bool makes_evacuation(const kube::Request& request) {
    return request.method == "POST" && request.path.ends_with("/evacuations");
  }
  static bool writes_policy_status(const kube::Request& request) {
    return request.method == "PATCH" && request.path.find("/deschedulerpolicies/") != std::string::npos;
  }
  static kube::Response refusal(int code, const char* reason, const std::string& message) {
    const Json body = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                       {"code", code},     {"reason", reason},   {"message", message}};
    return {.status = code, .body = body.dump(), .retry_after = {}, .content_type = "application/json"};
  }
};

TEST_F(Waves, TheOnlyOneKeepsItsTaintsUntilItsPodsHaveLeft) {
  begin("5m", "40m");
  ASSERT_TRUE(run_until([&] { return is_leaving() && !cycle().empty(); }, minutes(5)));
  const std::string planned = cycle();
  bool stayed = true;
  const auto is_over = [&] {
    if (!is_done()) stayed = stayed && tainted() == 1 && cycle() == planned;
    return is_done();
  };
  ASSERT_TRUE(run_until(is_over, minutes(60)));
  EXPECT_TRUE(stayed) << "cycles are due each five minutes";
  ASSERT_TRUE(run_until([&] { return tainted() == 0; }, minutes(10)));
}

TEST_F(Waves, ArePutOffForAboutAnHourByAPodThatDoesNotTerminate) {
  begin("5m", "160h");
  ASSERT_TRUE(run_until([&] { return is_leaving() && !cycle().empty(); }, minutes(5)));
  const std::string planned = cycle();
  run_for(minutes(50));
  EXPECT_EQ(cycle(), planned);
  EXPECT_EQ(tainted(), 1);
  ASSERT_TRUE(run_until([&] { return cycle() != planned; }, minutes(40)));
  ASSERT_TRUE(run_until([&] { return tainted() == 0; }, minutes(5)));
}

TEST_F(Waves, LoseTheTaintsAfterAFailOverInTheLastOne) {
  begin("24h", "10m");
  ASSERT_TRUE(run_until([&] { return is_leaving() && !cycle().empty(); }, minutes(5)));
  stop_operator();
  start_operator("replica-2");
  run_for(minutes(2));
  EXPECT_EQ(tainted(), 1);
  ASSERT_TRUE(run_until([&] { return is_done(); }, minutes(20)));
  EXPECT_TRUE(run_until([&] { return tainted() == 0; }, minutes(5)));
}

TEST_F(Waves, MissingInTheStatusDelayTheNextCycle) {
  begin("5m", "20m");
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (!writes_policy_status(request)) return std::nullopt;
    return refusal(500, "InternalError", "etcd is away");
  };
  ASSERT_TRUE(run_until([&] { return is_leaving(); }, minutes(5)));
  stop_operator();
  start_operator("replica-2");
  run_for(minutes(10));
  EXPECT_EQ(cycle(), "") << "what the predecessor made is unfinished";
  EXPECT_EQ(tainted(), 1);
  ASSERT_TRUE(run_until([&] { return is_done(); }, minutes(20)));
  EXPECT_TRUE(run_until([&] { return cycle() != "" && tainted() == 0; }, minutes(5)));
}

TEST_F(Waves, HoldTheCycleOfAnEditedSpecUp) {
  begin("5m", "20m");
  ASSERT_TRUE(run_until([&] { return is_leaving() && !cycle().empty(); }, minutes(5)));
  const std::string planned = cycle();
  edit(
      kube::kPolicies, "defragment", [](Json& object) { object["spec"]["schedule"]["interval"] = "6m"; }, "");
  run_for(minutes(10));
  EXPECT_EQ(cycle(), planned);
  EXPECT_EQ(tainted(), 1);
  EXPECT_TRUE(run_until([&] { return cycle() != planned && tainted() == 0; }, minutes(20)));
}

TEST_F(Waves, LeaveNoTaintWhereNoEvacuationCouldBeMade) {
  begin("5m");
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (!makes_evacuation(request)) return std::nullopt;
    return refusal(403, "Forbidden", R"(evacuations.evacuator.dev is forbidden: cannot create resource "evacuations")");
  };
  ASSERT_TRUE(run_until([&] { return !cycle().empty(); }, minutes(5)));
  EXPECT_THAT(condition_of("Degraded"), HasSubstr("cannot create resource"));
  run_for(base::seconds(10));
  EXPECT_EQ(tainted(), 0);
}

TEST_F(Waves, AreNotMadeWhereAWebhookRefusesTheTaints) {
  begin("5m");
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.method != "PATCH" || !request.path.starts_with("/api/v1/nodes/")) return std::nullopt;
    return refusal(403, "Forbidden", R"(admission webhook "nodes.example.com" denied the request: hands off)");
  };
  ASSERT_TRUE(run_until([&] { return !cycle().empty(); }, minutes(5)));
  EXPECT_EQ(evacuation_count(), 0U) << "without the taint the scheduler would put the pod back";
  EXPECT_THAT(condition_of("SoftTaints"), HasSubstr("hands off"));
  EXPECT_THAT(condition_of("SoftTaints"), testing::Not(HasSubstr("TaintsWritten")));
  replica->transport.lie = {};
  EXPECT_TRUE(run_until([&] { return is_done(); }, minutes(30))) << "tried again by itself";
}

/// Two moves free capacity for two moves of the next wave.
class TwoWaves : public Waves {
 protected:
  void begin() {
    add_classic(4, "1");
    start_operator();
    add_policy("30m");
  }
  /// Suspends the first unfinished Evacuation, once.
  void suspend_one() {
    if (!suspended.empty()) return;
    for (const auto& each : cluster->store().list(kube::kEvacuations, "shop")) {
      suspended = (*each)["metadata"]["name"];
      return patch_evacuation(suspended, {{"spec", {{"suspend", true}}}});
    }
  }

  std::string suspended;
};

TEST_F(TwoWaves, ContinueThoughATenantSuspendsAnEvacuation) {
  begin();
  replica->transport.after_each_call = [this] { suspend_one(); };
  ASSERT_TRUE(run_until([&] { return !suspended.empty() && !cycle().empty(); }, minutes(5)));
  replica->transport.after_each_call = {};
  const std::string planned = cycle();
  ASSERT_FALSE(get(suspended).status.attempt > 0) << "it has not begun";
  EXPECT_TRUE(run_until([&] { return cycle() != planned; }, minutes(35)));
  run_for(minutes(90));
  EXPECT_EQ(tainted(), 0);
}

/// Forty pods of one Deployment, of which one moves at a time by default.
class LargeWave : public Waves {
 protected:
  static constexpr std::size_t kPods = 40;

  void begin() {
    add(objects::name_space("shop"));
    for (int i = 0; i < 10; ++i) add(objects::node("leave-" + std::to_string(i), "4", "16Gi"));
    deploy(objects::deployment("shop", "web", kPods, "1", "64Mi"), "web", kPods);
    for (int i = 0; i < 2; ++i) add(objects::node("wide-" + std::to_string(i), "32", "64Gi"));
    deploy(objects::deployment("shop", "anchor", 2, "1", "64Mi"), "anchor", 2);
    ASSERT_EQ(nodes_in_use().size(), 12U);
    start_operator();
    add_policy("30m");
  }
};

TEST_F(LargeWave, EndsUnderTheDefaultLimits) {
  begin();
  EXPECT_TRUE(run_until([&] { return nodes_in_use().size() == 2; }, minutes(115)))
      << nodes_in_use().size() << " nodes are in use, " << status().evicted << " pods left; "
      << condition_of("Warnings") << "; " << condition_of("Degraded");
  run_for(minutes(15));
  EXPECT_GE(status().evicted, std::int64_t{kPods});
}

/// Another workload takes the capacity of the wide nodes.
TEST_F(LargeWave, StopsWhenItsCapacityIsGone) {
  begin();
  ASSERT_TRUE(run_until([&] { return granted() >= 3; }, minutes(30)));
  Json greedy = objects::deployment("shop", "greedy", 70, "1", "64Mi");
  const Json wide = {{"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", {"wide-0", "wide-1"}}};
  const Json term = {{"matchExpressions", Json::array({wide})}};
  objects::template_of(greedy)["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                              ["nodeSelectorTerms"] = Json::array({term});
  add(greedy);
  run_for(minutes(1));
  const std::size_t moved = granted();
  const std::string planned = cycle();
  ASSERT_TRUE(run_until([&] { return cycle() != planned; }, minutes(35))) << "the remaining moves are planned again";
  EXPECT_LE(granted(), moved + 1) << "one was on its way";
  int cancelled = 0;
  for (const auto& object : cluster->store().list(kube::kEvacuations, "shop")) {
    const Json& status = (*object)["status"];
    if (status.value("phase", "") != "Cancelled") continue;
    ++cancelled;
    EXPECT_EQ(status.value("reason", ""), "DecisionExpired");
    EXPECT_THAT(status.value("message", ""), HasSubstr("no node has enough free capacity any more"));
  }
  EXPECT_GT(cancelled, 20);
}

}  // namespace waves_test
