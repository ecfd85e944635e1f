#include <nlohmann/json.hpp>

#include "test/integration/rig/rig.hpp"

/// A plan of many moves: its Evacuations are made one after the other, and none waits for the rest of them.
namespace large_plan_test {

using api::Json;
using base::minutes;

constexpr int kMoves = 60;
/// The create while which the others work: everything that could happen has happened by then.
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
  /// What the other threads of the operator do while the one of the policies waits for an answer.
  void let_others_work() {
    for (int i = 0; i < 10 * kLookAt && replica->poll(); ++i) {
    }
    evictions_meanwhile_ = evictions().size();
  }
};

TEST_F(LargePlan, TheFirstEvictionIsAskedForWhileMostOfThePlanIsNotMadeYet) {
  plan_everything();
  ASSERT_TRUE(run_until([&] { return creates_ == kMoves; }, minutes(5)));
  EXPECT_GE(evictions_meanwhile_, 1U);
}

}  // namespace large_plan_test
