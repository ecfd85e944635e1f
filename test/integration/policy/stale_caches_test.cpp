#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/meta/condition.hpp"
#include "test/integration/rig/rig.hpp"

/// The operator must not plan on a cache that was filled once and fails since.
namespace stale_caches_test {

using api::Json;
using base::minutes;
using testing::HasSubstr;

class StaleCaches : public integration::Rig {
 protected:
  void begin(const char* interval = "1m") {
    stage();
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "fresh"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", interval}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 900}}}}})}}}});
    start_operator();
  }
  /// The server ends the watch of this kind and refuses new ones.
  void lose(const std::string& plural) {
    simulator::FaultRule cut{simulator::FaultEffect::kCutWatch};
    cut.resource = plural;
    cut.count = 1;
    server->faults().add(cut);
    for (const char* verb : {"list", "watch"}) {
      simulator::FaultRule down{simulator::FaultEffect::kUnavailable};
      down.verb = verb;
      down.resource = plural;
      server->faults().add(down);
    }
  }
  api::DeschedulerPolicyStatus status() const { return policy_status("fresh"); }
  api::Condition degraded() const { return policy_condition("fresh", "Degraded"); }
};

TEST_F(StaleCaches, MakeNoEvacuationsAndAreNamedUntilTheyFollowAgain) {
  begin();
  run_for(minutes(3));
  ASSERT_TRUE(status().last_cycle);
  EXPECT_EQ(degraded().reason, "AsExpected");
  EXPECT_TRUE(replica->ready());

  lose("nodes");
  run_for(minutes(7));
  EXPECT_FALSE(replica->ready());
  EXPECT_THAT(replica->ready().error().message, HasSubstr("nodes: received nothing from the server for more than 5m"));
  EXPECT_EQ(degraded().status, api::ConditionStatus::kTrue);
  EXPECT_EQ(degraded().reason, "StaleCaches");
  EXPECT_THAT(degraded().message, HasSubstr("nodes"));
  const auto last = status().last_cycle->start;
  run_for(minutes(20));  // the pods become old enough to be moved
  EXPECT_EQ(status().last_cycle->start, last) << "no cycle on what nobody knows";
  EXPECT_EQ(evacuation_count(), 0U);

  server->faults().clear();
  run_for(minutes(3));
  EXPECT_TRUE(replica->ready());
  EXPECT_EQ(degraded().status, api::ConditionStatus::kFalse);
  EXPECT_GT(status().last_cycle->start, last);
  EXPECT_GT(evacuation_count(), 0U);
}

TEST_F(StaleCaches, AreNotSeenInAShortOutage) {
  begin();
  run_for(minutes(3));
  lose("nodes");
  run_for(minutes(3));
  EXPECT_TRUE(replica->ready());
  EXPECT_EQ(degraded().reason, "AsExpected");
  server->faults().clear();
  run_for(minutes(10));
  EXPECT_TRUE(replica->ready());
}

// --- long cycles

class LongCycle : public StaleCaches {};

/// Tens of thousands of creations take longer than the timeout for a hanging reconcile.
TEST_F(LongCycle, IsNoHangingReconcileWhileItMakesProgress) {
  begin();
  run_for(minutes(13));
  std::size_t created = 0;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    if (request.method != "POST" || !request.path.ends_with("/evacuations")) return;
    ++created;
    clock.advance(minutes(3));
    replica->follow();
    EXPECT_TRUE(replica->alive());
  };
  run_for(minutes(5));
  replica->transport.before_each_call = nullptr;
  EXPECT_EQ(created, 3U);
}

TEST_F(LongCycle, EndsWhenThePolicyIsChangedMeanwhile) {
  begin();
  run_for(minutes(13));
  std::size_t created = 0;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    if (request.method != "POST" || !request.path.ends_with("/evacuations")) return;
    if (++created > 1) return;
    edit(
        kube::kPolicies, "fresh", [](Json& policy) { policy["spec"]["mode"] = "DryRun"; }, "");
    replica->follow();
  };
  run_for(minutes(5));
  replica->transport.before_each_call = nullptr;
  EXPECT_EQ(created, 1U);
}

class WeeklyPolicy : public StaleCaches {};

TEST_F(WeeklyPolicy, ReportsItsCycleAlthoughTheFirstWriteFails) {
  simulator::FaultRule down{simulator::FaultEffect::kInternalError};
  down.verb = "patch";
  down.resource = "deschedulerpolicies";
  down.count = 2;
  server->faults().add(down);
  begin("168h");
  run_for(base::seconds(30));
  ASSERT_TRUE(status().last_cycle);
  EXPECT_EQ(degraded().reason, "AsExpected");
}

}  // namespace stale_caches_test
