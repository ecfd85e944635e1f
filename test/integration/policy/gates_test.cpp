#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/meta/condition.hpp"
#include "test/integration/rig/rig.hpp"

/// What a gate stops and what continues.
namespace gates_test {

using api::Json;
using base::minutes;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHolds = R"({"hold":true,"message":"change freeze"})";
constexpr const char* kOpen = R"({"hold":false})";

class GatedPolicy : public integration::Rig {
 protected:
  class Client final : public controllers::GateClient {
   public:
    explicit Client(GatedPolicy& test) : test_(test) {}
    base::Result<std::string> ask(kube::Request) override { return test_.answer; }

   private:
    GatedPolicy& test_;
  };

  GatedPolicy() {
    gates = [this](const api::UsageEndpoint&, std::size_t) { return std::make_unique<Client>(*this); };
  }

  /// Creates three pods that are old enough to be moved. One per minute may begin.
  void begin() {
    stage();
    start_operator();
    run_for(minutes(20));
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "gated"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", "10m"}}},
           {"gates", Json::array({{{"name", "freeze"}, {"webhook", {{"url", "https://gate.test"}}}}})},
           {"limits", {{"rate", {{"perMinute", 1}, {"burst", 1}}}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 900}}}}})}}}});
  }
  api::DeschedulerPolicyStatus status() const { return policy_status("gated"); }
  api::Condition suspended() const { return policy_condition("gated", "Suspended"); }

  base::Result<std::string> answer = std::string(kOpen);
};

TEST_F(GatedPolicy, PlansAndMakesNothingWhileAGateHolds) {
  answer = std::string(kHolds);
  begin();
  run_for(minutes(2));
  ASSERT_TRUE(status().last_cycle);
  EXPECT_GT(status().last_cycle->nominated, 0);
  EXPECT_FALSE(status().plan.empty());
  EXPECT_EQ(evacuation_count(), 0U);
  EXPECT_EQ(suspended().status, api::ConditionStatus::kTrue);
  EXPECT_EQ(suspended().reason, "GateHolds");
  EXPECT_THAT(suspended().message, HasSubstr("gate freeze holds: change freeze"));
  EXPECT_THAT(replica->events, Contains("gated GateHolds"));

  answer = std::string(kOpen);
  run_for(minutes(11));
  EXPECT_GT(evacuation_count(), 0U);
  EXPECT_EQ(suspended().reason, "Active");
  EXPECT_THAT(replica->events, Contains("gated Active"));
}

TEST_F(GatedPolicy, MakesEvacuationsInItsFirstCycleWhenNoGateHolds) {
  begin();
  run_for(base::seconds(5));
  EXPECT_GT(evacuation_count(), 0U) << "the cycle waited for the gate's first answer";
  EXPECT_THAT(replica->events, Not(Contains("gated GateUnanswered")));
}

TEST_F(GatedPolicy, AdmitsNothingThatWaitsWhileAGateHolds) {
  begin();
  run_for(base::seconds(70));
  ASSERT_EQ(evacuation_count(), 3U);
  const std::size_t before = granted();
  ASSERT_GT(before, 0U);
  ASSERT_LT(before, 3U);
  answer = std::string(kHolds);
  run_for(base::seconds(30));  // until the gate is asked again
  const std::size_t meanwhile = granted();
  run_for(minutes(5));
  EXPECT_EQ(granted(), meanwhile);
  answer = std::string(kOpen);
  run_for(minutes(4));
  EXPECT_GT(granted(), meanwhile);
}

TEST_F(GatedPolicy, IsHeldByAGateWithoutAnAnswer) {
  answer = base::unavailable("connection refused");
  begin();
  run_for(minutes(2));
  EXPECT_EQ(evacuation_count(), 0U);
  EXPECT_EQ(suspended().reason, "GateUnanswered");
  EXPECT_THAT(suspended().message, HasSubstr("gate freeze has no response: connection refused"));
}

}  // namespace gates_test
