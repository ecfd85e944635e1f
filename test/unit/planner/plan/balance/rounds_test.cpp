#include "planner/plan/balance/rounds.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/builders/cluster.hpp"

namespace planner {
namespace rounds_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using strategies::RoundRules;

RoundsSeen seen(std::int32_t in_use, double imbalance = 10) {
  return {.nodes = 10, .nodes_in_use = in_use, .imbalance = imbalance, .now = kNoon};
}
RoundsSeen unsettled(std::int32_t in_use, base::Duration after = base::minutes(1)) {
  RoundsSeen now = seen(in_use);
  now.is_settled = false;
  now.now = kNoon + after;
  return now;
}

/// Runs the rounds as the controller does in each cycle.
class RoundsRun {
 public:
  explicit RoundsRun(RoundRules rules = {}) : rules_(rules) {}

  /// Runs one cycle in which leveling finds `to_level` moves and packing finds `to_pack`. Returns the state of the
  /// rounds afterwards.
  std::string cycle(const RoundsSeen& now, int to_level, int to_pack) {
    api::RoundsStatus next = next_rounds(known_ ? &*known_ : nullptr, now, rules_);
    while (runs_in_cycle(next)) {
      next.planned = next.phase == kLeveling ? to_level : to_pack;
      if (next.planned > 0) break;
      next = after_half(next, now, rules_);
    }
    if (runs_in_cycle(next)) next.moved += next.planned, next.planned_at = kNoon;
    known_ = next;
    return text();
  }
  std::string text() const {
    const std::string waits = known_->waiting ? ", waits" : "";
    return std::to_string(known_->round) + " " + known_->phase + (known_->reason.empty() ? "" : "/" + known_->reason) +
           waits;
  }
  const api::RoundsStatus& status() const { return *known_; }
  /// Round-trips the status through JSON, as a new leader reads it.
  void fail_over() {
    api::Json json;
    api::put_rounds_status(json, known_);
    known_ = api::rounds_status_of(json);
  }

 private:
  RoundRules rules_;
  std::optional<api::RoundsStatus> known_;
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
  RoundsSeen late = unsettled(9, base::minutes(16));
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
  RoundsSeen end;  ///< State after a round that began with 9 nodes in use and an imbalance of 10
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
    [](const auto& info) { return info.param.name; });

struct AgainCase {
  std::string name;
  RoundsSeen now;
  bool again;
};

class RoundsThatStopped : public testing::TestWithParam<AgainCase> {};

TEST_P(RoundsThatStopped, BeginAgainWhenTheClusterChanges) {
  RoundsRun run;
  ASSERT_EQ(run.cycle(seen(9), 0, 0), "1 Stopped/Converged");
  EXPECT_EQ(run.cycle(GetParam().now, 1, 0), GetParam().again ? "1 Leveling" : "1 Stopped/Converged");
}

RoundsSeen with_nodes(std::int32_t nodes) {
  RoundsSeen now = seen(9);
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
    [](const auto& info) { return info.param.name; });

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

TEST(Rounds, RejectInvalidStatus) {
  const auto read = [](const char* text) { return api::rounds_status_of(*api::parse_json(text)); };
  EXPECT_EQ(read(R"({})"), std::nullopt);
  EXPECT_EQ(read(R"({"rounds": {"phase": "Dancing", "round": 3}})"), std::nullopt);
  EXPECT_EQ(read(R"({"rounds": []})"), std::nullopt);
  EXPECT_EQ(read(R"({"rounds": {"phase": "Packing", "round": -3}})")->round, 1);
}

TEST(Rounds, CountNodesWithPodsThatWouldHaveToMove) {
  ClusterBuilder cluster;
  for (const char* name : {"a", "b", "c", "d"}) cluster.add(NodeBuilder(name));
  cluster.add(PodBuilder("web").on("a").cpu(1000)).add(PodBuilder("agent").on("b").owned_by("DaemonSet", "agent"));
  cluster.add(PodBuilder("mirror").on("c").annotate(api::well_known::kMirrorAnnotation, "x"));
  cluster.add(PodBuilder("leaving").on("d").terminating());
  const auto snapshot = cluster.build();
  const std::vector<scheduling::NodeIndex> nodes = {0, 1, 2, 3};
  const RoundsSeen now = observe_rounds(*snapshot, nodes, std::nullopt);
  EXPECT_EQ(now.nodes, 4);
  EXPECT_EQ(now.nodes_in_use, 1);
  EXPECT_EQ(now.imbalance, 0);
}

}  // namespace rounds_test
}  // namespace planner
