#include "planner/strategies/alternating/alternating_utilization.hpp"

#include <gtest/gtest.h>

#include "test/builders/cluster.hpp"

namespace strategies {
namespace rounds_test {

using builders::kNoon;

CycleFacts seen(std::int32_t in_use, double imbalance = 10) {
  return {.nodes = 10, .nodes_in_use = in_use, .imbalance = imbalance, .now = kNoon};
}
CycleFacts unsettled(std::int32_t in_use, base::Duration after = base::minutes(1)) {
  CycleFacts now = seen(in_use);
  now.is_settled = false;
  now.now = kNoon + after;
  return now;
}

bool runs(const Rounds& rounds) {
  return AlternatingUtilization({}).progress(to_state(rounds, AlternatingUtilization::kName))->runs_in_cycle();
}

/// Runs the rounds as the controller does in each cycle.
class RoundsRun {
 public:
  explicit RoundsRun(RoundRules rules = {}) : rules_(rules) {}

  /// Runs one cycle in which leveling finds `to_level` moves and packing finds `to_pack`. Returns the state of the
  /// rounds afterwards.
  std::string cycle(const CycleFacts& now, int to_level, int to_pack) {
    Rounds next = next_rounds(known_, now, rules_);
    while (runs(next)) {
      next.planned = next.phase == kLeveling ? to_level : to_pack;
      if (next.planned > 0) break;
      next = after_half(next, now, rules_);
    }
    if (runs(next)) {
      next.moved += next.planned;
      next.planned_at = kNoon;
    }
    known_ = next;
    return text();
  }
  std::string text() const {
    const std::string waits = known_->waiting ? ", waits" : "";
    return std::to_string(known_->round) + " " + known_->phase + (known_->reason.empty() ? "" : "/" + known_->reason) +
           waits;
  }
  const Rounds& status() const { return *known_; }
  /// Round-trips the state through JSON, as a new leader reads it.
  void fail_over() { known_ = read_rounds(to_state(*known_, "AlternatingUtilization")); }

 private:
  RoundRules rules_;
  std::optional<Rounds> known_;
};

TEST(Rounds, LevelThenPackThenAgainWhileTheyGain) {
  RoundsRun run;
  EXPECT_EQ(run.cycle(seen(9), 3, 9), "1 Leveling");
  EXPECT_EQ(run.cycle(seen(9), 0, 4), "1 Packing");
  EXPECT_EQ(run.cycle(seen(7), 2, 0), "2 Leveling");
  EXPECT_EQ(run.status().nodes_freed, 2);
  EXPECT_EQ(run.cycle(seen(7), 0, 1), "2 Packing");
  EXPECT_EQ(run.cycle(seen(7), 0, 0), "2 Stopped/NoProgress");
  EXPECT_EQ(run.status().nodes_freed, 2);
}

TEST(Rounds, AHalfContinuesUntilItFindsNothing) {
  RoundsRun run;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run.cycle(seen(9), 20, 5), "1 Leveling") << "limits cut it";
  EXPECT_EQ(run.cycle(seen(9), 0, 5), "1 Packing");
  EXPECT_EQ(run.cycle(seen(8), 3, 5), "1 Packing") << "leveling has had its turn";
  EXPECT_EQ(run.status().moved, 70);
}

TEST(Rounds, AnEmptyHalfCostsNoCycle) {
  RoundsRun run;
  EXPECT_EQ(run.cycle(seen(9), 0, 3), "1 Packing");
  EXPECT_EQ(run.cycle(seen(8), 0, 3), "1 Packing");
  EXPECT_EQ(run.cycle(seen(7), 0, 0), "2 Stopped/Converged");
}

TEST(Rounds, ConvergeIfNothingNeedsToMove) {
  RoundsRun run;
  EXPECT_EQ(run.cycle(seen(9), 0, 0), "1 Stopped/Converged");
  EXPECT_EQ(run.cycle(seen(9), 5, 5), "1 Stopped/Converged") << "the same cluster";
}

TEST(Rounds, WaitUntilTheirMovesHaveSettled) {
  RoundsRun run;
  run.cycle(seen(9), 3, 9);
  EXPECT_EQ(run.cycle(unsettled(9), 3, 9), "1 Leveling, waits");
  EXPECT_EQ(run.cycle(unsettled(9), 3, 9), "1 Leveling, waits");
  EXPECT_EQ(run.cycle(seen(9), 0, 9), "1 Packing");
}

TEST(Rounds, WaitWithTheFirstRoundForEarlierEvacuations) {
  RoundsRun run;
  EXPECT_EQ(run.cycle(unsettled(9), 3, 9), "1 Leveling, waits");
  EXPECT_EQ(run.cycle(unsettled(9, base::minutes(300)), 3, 9), "1 Leveling, waits") << "they are not its own";
  EXPECT_EQ(run.cycle(seen(6), 3, 9), "1 Leveling");
  EXPECT_EQ(run.status().nodes_in_use, 6) << "what the round begins with";
}

TEST(Rounds, GiveUpIfSettlingTakesTooLong) {
  RoundsRun run;
  run.cycle(seen(9), 3, 9);
  EXPECT_EQ(run.cycle(unsettled(9, base::minutes(15)), 3, 9), "1 Leveling, waits");
  CycleFacts late = unsettled(9, base::minutes(16));
  late.may_time_out = false;
  EXPECT_EQ(run.cycle(late, 3, 9), "1 Leveling, waits") << "people take their time";
  late.may_time_out = true;
  EXPECT_EQ(run.cycle(late, 3, 9), "1 Stopped/NotSettled");
  EXPECT_EQ(run.cycle(seen(9), 3, 9), "1 Stopped/NotSettled");
  EXPECT_EQ(run.cycle(seen(8), 3, 9), "1 Leveling") << "it settled, and another number of nodes is in use";
}

TEST(Rounds, EndAfterMaxRounds) {
  RoundsRun run({.max_rounds = 2});
  run.cycle(seen(9), 1, 0);
  EXPECT_EQ(run.cycle(seen(8), 0, 0), "2 Stopped/Converged");
  RoundsRun gains({.max_rounds = 2});
  for (const std::int32_t in_use : {9, 8}) {
    gains.cycle(seen(in_use), 1, 0);
    gains.cycle(seen(in_use), 0, 1);
  }
  EXPECT_EQ(gains.text(), "2 Packing");
  EXPECT_EQ(gains.cycle(seen(7), 5, 0), "2 Stopped/MaxRounds");
  EXPECT_EQ(gains.status().nodes_freed, 2);
}

struct GainCase {
  std::string name;
  RoundRules rules;
  CycleFacts end;  ///< State after a round that began with 9 nodes in use and an imbalance of 10
  bool goes_on;
};

class RoundGain : public testing::TestWithParam<GainCase> {};

TEST_P(RoundGain, DecidesWhetherAnotherFollows) {
  RoundsRun run(GetParam().rules);
  run.cycle(seen(9), 1, 0);
  run.cycle(seen(9), 0, 1);
  EXPECT_EQ(run.cycle(GetParam().end, 1, 0), GetParam().goes_on ? "2 Leveling" : "1 Stopped/NoProgress");
}

INSTANTIATE_TEST_SUITE_P(
    Rounds, RoundGain,
    testing::Values(GainCase{"OneNode", {}, seen(8), true}, GainCase{"NoNode", {}, seen(9), false},
                    GainCase{"ANodeMore", {}, seen(10), false},
                    GainCase{"TooFewNodes", {.min_freed = 3}, seen(7), false},
                    GainCase{"MoreEvenAlone", {}, seen(9, 1), false},
                    GainCase{"EvenEnough", {.min_freed = {}, .min_imbalance_gain = 4}, seen(9, 6), true},
                    GainCase{"NotEvenEnough", {.min_freed = {}, .min_imbalance_gain = 4}, seen(9, 6.1), false},
                    GainCase{"NodesDoNotCount", {.min_freed = {}, .min_imbalance_gain = 4}, seen(5, 9), false},
                    GainCase{"EitherWillDo", {.min_freed = 2, .min_imbalance_gain = 4}, seen(9, 5), true}),
    [](const auto& test) { return test.param.name; });

struct AgainCase {
  std::string name;
  CycleFacts now;
  bool again;
};

class RoundsThatStopped : public testing::TestWithParam<AgainCase> {};

TEST_P(RoundsThatStopped, BeginAgainWhenTheClusterChanges) {
  RoundsRun run;
  ASSERT_EQ(run.cycle(seen(9), 0, 0), "1 Stopped/Converged");
  EXPECT_EQ(run.cycle(GetParam().now, 1, 0), GetParam().again ? "1 Leveling" : "1 Stopped/Converged");
}

CycleFacts with_nodes(std::int32_t nodes) {
  CycleFacts now = seen(9);
  now.nodes = nodes;
  return now;
}

INSTANTIATE_TEST_SUITE_P(
    Rounds, RoundsThatStopped,
    testing::Values(AgainCase{"TheSame", seen(9), false}, AgainCase{"ANodeLessInUse", seen(8), true},
                    AgainCase{"ANodeMoreInUse", seen(10), true}, AgainCase{"NearlyAsEven", seen(9, 12.5), false},
                    AgainCase{"LessEven", seen(9, 12.6), true}, AgainCase{"ANodeOfTenMore", with_nodes(11), false},
                    AgainCase{"TwoMore", with_nodes(12), true}, AgainCase{"FreeNodesAreGone", with_nodes(5), false},
                    AgainCase{"NotSettled", unsettled(8), false}),
    [](const auto& test) { return test.param.name; });

TEST(Rounds, SmallChangesOfALargeClusterStartNothing) {
  RoundsRun run;
  ASSERT_EQ(run.cycle(seen(100), 0, 0), "1 Stopped/Converged");
  EXPECT_EQ(run.cycle(seen(90), 1, 0), "1 Stopped/Converged");
  EXPECT_EQ(run.cycle(seen(89), 1, 0), "1 Leveling");
}

TEST(Rounds, ANewLeaderContinuesTheRounds) {
  RoundsRun run;
  run.cycle(seen(9), 3, 9);
  run.fail_over();
  EXPECT_EQ(run.cycle(unsettled(9), 3, 9), "1 Leveling, waits");
  run.fail_over();
  EXPECT_EQ(run.cycle(seen(9), 0, 4), "1 Packing");
  run.fail_over();
  EXPECT_EQ(run.cycle(seen(8), 2, 0), "2 Leveling");
  run.fail_over();
  EXPECT_EQ(run.status().nodes_freed, 1);
}

TEST(Rounds, RejectInvalidState) {
  EXPECT_EQ(read_rounds(""), std::nullopt);
  EXPECT_EQ(read_rounds("{}"), std::nullopt);
  EXPECT_EQ(read_rounds("[]"), std::nullopt);
  EXPECT_EQ(read_rounds(R"({"phase": "Dancing", "round": 3})"), std::nullopt);
  EXPECT_EQ(read_rounds(R"({"phase": "Packing", "round": -3})")->round, 1);
  EXPECT_EQ(read_rounds(R"({"phase": "Packing", "moved": 9000000000, "imbalance": "x"})")->moved, 1000000000);
  EXPECT_EQ(read_rounds(R"({"phase": "Packing", "moved": 18446744073709551615})")->moved, 0);
  EXPECT_EQ(read_rounds(R"({"phase": "Packing", "nodesInUse": -2147483648})")->nodes_in_use, 0);
}

TEST(Rounds, KeepEveryFieldInTheState) {
  const Rounds all{.round = 2,
                   .phase = "Stopped",
                   .reason = "NoProgress",
                   .waiting = true,
                   .planned = 3,
                   .moved = 12,
                   .nodes = 9,
                   .nodes_in_use = 7,
                   .imbalance = 4.5,
                   .nodes_freed = 2,
                   .planned_at = kNoon};
  EXPECT_EQ(read_rounds(to_state(all, "AlternatingUtilization")), all);
}

}  // namespace rounds_test
}  // namespace strategies
