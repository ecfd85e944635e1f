#include "controllers/policy/balance/convergence.hpp"

#include <gmock/gmock.h>

#include "api/meta/well_known.hpp"
#include "planner/plan/balance/convergence.hpp"

/// Which moves and taints of a cycle the convergence guard removes.
namespace controllers {
namespace policy_convergence_test {

using testing::ElementsAre;

const std::string kLow = "LowNodeUtilization";
const std::string kSecond = "LowNodeUtilization[1]";

api::PlannedMove move(const std::string& pod, const std::string& from, const std::string& to) {
  return {"shop", pod, pod, from, to, kLow, "", {}, 0};
}
planner::NodeTaint taint(const std::string& node) { return {node, std::string(api::well_known::kLoadedTaint), "p"}; }
api::BalanceRow row(const std::string& strategy) { return {strategy, "cpu", {20, 1}, {10, 1}, "", 0, 0}; }

/// An outcome with two strategy entries of one name. The first entry reverses earlier moves, the second makes progress.
CycleOutcome outcome() {
  CycleOutcome made;
  made.moves = {move("back", "n2", "n1"), move("on", "n3", "n4"), move("on-2", "n3", "n4")};
  made.taints = {taint("n1"), taint("n3")};
  made.balance = {row(kLow), row(kSecond)};
  planner::StrategyResult first;
  first.strategy = kLow;
  first.row = kLow;
  first.nominated = 1;
  first.taints = {taint("n1")};
  planner::StrategyResult second = first;
  second.row = kSecond;
  second.nominated = 2;
  second.taints = {taint("n3")};
  made.strategies = {first, second};
  return made;
}

api::DeschedulerPolicy policy() {
  api::DeschedulerPolicy made;
  made.meta.generation = 1;
  made.status.observed_generation = 1;
  made.status.last_cycle = api::LastCycle{.id = "c", .created = 1};
  made.status.plan = {move("forth", "n1", "n2")};
  made.status.balance = {row(kLow), row(kSecond)};
  for (api::BalanceRow& each : made.status.balance) each.state = planner::kImproving;
  return made;
}

std::vector<std::string> pods_of(const CycleOutcome& of) {
  std::vector<std::string> names;
  for (const api::PlannedMove& each : of.moves) names.push_back(each.pod);
  return names;
}

TEST(JudgeBalance, StopsTheStrategyThatOscillatesAndNoOtherOfItsName) {
  CycleOutcome judged = outcome();
  judge_balance(policy(), judged);
  EXPECT_EQ(judged.balance[0].state, planner::kOscillating);
  EXPECT_EQ(judged.balance[1].state, planner::kImproving);
  EXPECT_THAT(pods_of(judged), ElementsAre("on", "on-2"));
  EXPECT_EQ(judged.summary.nominated, 2);
}

TEST(JudgeBalance, TakesTheTaintsOfAStoppedStrategyOut) {
  CycleOutcome judged = outcome();
  judge_balance(policy(), judged);
  EXPECT_THAT(judged.taints, ElementsAre(taint("n3")));
}

TEST(JudgeBalance, LeavesThePlanOfStrategiesThatImprove) {
  CycleOutcome judged = outcome();
  api::DeschedulerPolicy before = policy();
  before.status.plan.clear();
  judge_balance(before, judged);
  EXPECT_EQ(judged.moves.size(), 3U);
  EXPECT_EQ(judged.taints.size(), 2U);
}

TEST(JudgeBalance, StopsTheStrategyThatRepeatsItsPlanForNothing) {
  for (const char* from : {"n2", "n5"}) {
    CycleOutcome judged = outcome();
    api::DeschedulerPolicy before = policy();
    before.spec.convergence.patience = 1;
    before.status.plan = {move("earlier", from, "n9")};
    judge_balance(before, judged);
    const bool repeats = std::string_view(from) == "n2";
    EXPECT_EQ(judged.balance[0].state, repeats ? planner::kNoProgress : planner::kImproving) << from;
    EXPECT_EQ(judged.moves.size(), repeats ? 2U : 3U) << from;
  }
}

/// A plan in waves that is expected to free a third of the nodes.
struct WavesCase {
  std::string name;
  std::int32_t waves_before = 0;  ///< remaining waves of the last cycle
  std::int32_t waves_now = 0;
  bool continues = true;
  double in_use = 100;  ///< current percentage
  std::int32_t without_gain = 0;
  std::string state{planner::kImproving};
};

class WavesTest : public testing::TestWithParam<WavesCase> {};

TEST_P(WavesTest, AreJudgedAtTheirEnd) {
  const WavesCase& c = GetParam();
  const auto emptying = [](double now) {
    return api::BalanceRow{"Defragmentation", std::string(planner::kNodesInUse), {now, 0}, {now - 33, 0}, "", 0, 0};
  };
  api::DeschedulerPolicy before = policy();
  before.spec.convergence.patience = 2;
  before.status.last_cycle->waves = c.waves_before;
  before.status.balance = {emptying(100)};
  before.status.balance[0].state = planner::kImproving;
  before.status.balance[0].without_gain = 1;
  CycleOutcome judged;
  judged.balance = {emptying(c.in_use)};
  judged.summary.waves = c.waves_now;
  judge_balance(before, judged, c.continues);
  EXPECT_EQ(judged.balance[0].state, c.state);
  EXPECT_EQ(judged.balance[0].without_gain, c.without_gain);
}

INSTANTIATE_TEST_SUITE_P(
    Policy, WavesTest,
    testing::Values(WavesCase{"GetsOn", 3, 2, true, 100, 1},
                    WavesCase{"DoesNotGetOn", 3, 3, true, 100, 2, std::string(planner::kNoProgress)},
                    WavesCase{"DoesNotGetOnAndFreedSome", 3, 3, true, 92, 0},
                    WavesCase{"EndedForNothing", 1, 2, false, 100, 2, std::string(planner::kNoProgress)},
                    WavesCase{"EndedWithGain", 1, 2, false, 67, 0}),
    [](const auto& test) { return test.param.name; });

TEST(JudgeBalance, AStoppedPlanHasNoWaves) {
  CycleOutcome judged = outcome();
  for (api::PlannedMove& each : judged.moves) each.wave = 2;
  judged.moves[0].wave = 1;
  judged.summary.waves = 3;
  judge_balance(policy(), judged);
  EXPECT_EQ(judged.summary.waves, 2);
}

}  // namespace policy_convergence_test
}  // namespace controllers
