#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/well_known.hpp"
#include "planner/strategies/alternating/rounds.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/fragmented_stage.hpp"

/// Half of the nodes are full of ordinary pods. Each of the others is kept in use by one pod of a set with
/// anti-affinity. Alternating leveling and packing frees some of them, through the complete operator.
namespace alternating_test {

using api::Json;
using base::minutes;

constexpr int kOnFull = 8;

class Alternating : public integration::FragmentedStage {
 protected:
  void begin(const Json& more_args = Json::object()) {
    add_classic(kOnFull, "500m");
    start_operator();
    Json args = {{"lowNodeUtilization", {{"thresholds", {{"cpu", 60}}}, {"targetThresholds", {{"cpu", 75}}}}},
                 {"highNodeUtilization", {{"thresholds", {{"cpu", 60}}}}}};
    args.update(more_args);
    add_automatic_policy("alternate", "30m", {{"name", "AlternatingUtilization"}, {"args", args}});
  }
  api::DeschedulerPolicyStatus status() const { return policy_status("alternate"); }
  /// All fields are empty before the first cycle.
  strategies::Rounds rounds() const {
    const auto state = status().strategy_state;
    return state ? strategies::read_rounds(state->value).value() : strategies::Rounds{};
  }
  std::string phase() const { return rounds().phase; }
  api::Condition converged() const { return policy_condition("alternate", "Converged"); }
};

TEST_F(Alternating, FreesNodesInRoundsThatWaitForNoIntervalAndStops) {
  begin();
  ASSERT_EQ(nodes_in_use().size(), std::size_t{kFull + kHeld});
  ASSERT_TRUE(run_until([&] { return phase() == "Leveling"; }, minutes(5)));
  EXPECT_EQ(converged().reason, "RoundRunning");
  ASSERT_TRUE(run_until([&] { return phase() == "Packing"; }, minutes(20))) << "at once when the first half settled";
  EXPECT_TRUE(run_until([&] { return tainted() > 0; }, minutes(5))) << "replacements are kept off";
  ASSERT_TRUE(run_until([&] { return phase() == "Stopped"; }, minutes(180))) << converged().message;
  EXPECT_LT(nodes_in_use().size(), std::size_t{kFull + kHeld});
  EXPECT_EQ(rounds().nodes_freed, kFull + kHeld - static_cast<int>(nodes_in_use().size()));
  EXPECT_EQ(converged().reason, rounds().reason);
  run_for(minutes(40));
  EXPECT_EQ(tainted(), 0);
  const std::int64_t moved = status().evicted;
  const std::size_t in_use = nodes_in_use().size();
  run_for(minutes(180));
  EXPECT_EQ(status().evicted, moved) << "stopped is stopped";
  EXPECT_EQ(nodes_in_use().size(), in_use);
}

TEST_F(Alternating, GoesOnInTheSamePhaseAfterAFailOver) {
  begin();
  ASSERT_TRUE(run_until([&] { return phase() == "Packing"; }, minutes(60)));
  const strategies::Rounds before = rounds();
  stop_operator();
  run_for(minutes(5));
  start_operator("replica-2");
  bool leveled_again = false;
  ASSERT_TRUE(run_until(
      [&] {
        const strategies::Rounds now = rounds();
        leveled_again = leveled_again || (now.round == before.round && now.phase == "Leveling");
        return phase() == "Stopped";
      },
      minutes(240)));
  EXPECT_FALSE(leveled_again) << "not again in the same round";
  EXPECT_LT(nodes_in_use().size(), std::size_t{kFull + kHeld});
}

/// A pod of a moved workload fits on no node. The second half would plan with a wrong assumption.
TEST_F(Alternating, WaitsForPodsWithoutANodeAndThenGivesUp) {
  begin({{"settleTimeout", "10m"}});
  ASSERT_TRUE(run_until([&] { return status().evicted > 0; }, minutes(20)));
  // All nodes are cordoned during the first half, so new pods stay Pending.
  for (const auto& node : cluster->store().list(kube::kNodes, ""))
    edit(
        kube::kNodes, (*node)["metadata"]["name"], [](Json& object) { object["spec"]["unschedulable"] = true; }, "");
  ASSERT_TRUE(run_until([&] { return rounds().reason == "NotSettled"; }, minutes(90)))
      << phase() << " " << converged().message;
  EXPECT_EQ(converged().reason, "NotSettled");
  EXPECT_EQ(rounds().round, 1);
}

TEST_F(Alternating, MovesNothingInADryRunAndSaysWhichHalfWouldBeFirst) {
  begin();
  edit(
      kube::kPolicies, "alternate", [](Json& object) { object["spec"]["mode"] = "DryRun"; }, "");
  run_for(minutes(100));
  EXPECT_EQ(nodes_in_use().size(), std::size_t{kFull + kHeld});
  EXPECT_EQ(phase(), "Leveling");
  EXPECT_EQ(rounds().moved, 0);
}

}  // namespace alternating_test
