#include <nlohmann/json.hpp>

#include "test/integration/rig/rig.hpp"

/// A plan with many moves: its Evacuations are created one after the other, and none waits for the others.
namespace large_plan_test {

using api::Json;
using base::minutes;

constexpr int kMoves = 60;
/// Number of the create during which the other threads run. By then every possible event has happened.
constexpr int kLookAt = 20;

class LargePlan : public integration::Rig {
 protected:
  void plan_everything() {
    limits = {};
    stage(kMoves);
    start_operator();
    run_for(minutes(20));
    replica->transport.before_each_call = [this](const kube::Request& request) {
      const bool creates = request.method == "POST" && request.path.ends_with("/evacuations");
      if (creates && ++creates_ == kLookAt) let_others_work();
    };
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "all"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"limits", {{"perCycle", {{"total", kMoves}}}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 900}}}}})}}}});
  }

  int creates_ = 0;
  std::size_t evictions_meanwhile_ = 0;

 private:
  /// Simulates the operator's other threads while the policy thread waits for an answer.
  void let_others_work() {
    for (int i = 0; i < 10 * kLookAt && replica->poll(); ++i) {
    }
    evictions_meanwhile_ = evictions().size();
  }
};

TEST_F(LargePlan, TheFirstEvictionStartsBeforeMostOfThePlanIsCreated) {
  plan_everything();
  ASSERT_TRUE(run_until([&] { return creates_ == kMoves; }, minutes(5)));
  EXPECT_GE(evictions_meanwhile_, 1U);
}

}  // namespace large_plan_test
