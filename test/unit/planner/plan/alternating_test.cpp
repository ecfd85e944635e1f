/// The strategy AlternatingUtilization in complete planning cycles, run in sequence as the operator runs them.

#include <gmock/gmock.h>

#include <map>

#include "api/meta/well_known.hpp"
#include "planner/plan/planner.hpp"
#include "planner/strategies/alternating/rounds.hpp"
#include "test/unit/planner/plan/strategy_worlds.hpp"

namespace planner {
namespace alternating_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::ClusterSnapshot;
using strategies::Rounds;
using testing::IsEmpty;

constexpr auto kArgs = R"({
  "lowNodeUtilization": {"thresholds": {"cpu": 60}, "targetThresholds": {"cpu": 75}},
  "highNodeUtilization": {"thresholds": {"cpu": 60}}})";

Rounds rounds_of(const Plan& plan) { return strategies::read_rounds(plan.strategy_state.value().value).value(); }

std::string keys_of(const Plan& plan) {
  std::string text;
  for (const NodeTaint& taint : plan.taints) text += taint.node + " ";
  return text;
}

/// Runs planning cycles. Carries out every plan completely before the next cycle, so each plan has settled by then.
class Cluster {
 public:
  explicit Cluster(const ClusterBuilder& builder, const std::string& strategy = "AlternatingUtilization",
                   const std::string& args = kArgs)
      : objects_(builder.input()) {
    policy_.strategies.push_back({strategy, args});
  }

  Plan cycle() {
    const ClusterSnapshot snapshot(objects_);
    Plan plan = plan_cycle({.spec = PlanSpec(policy_),
                            .cluster = snapshot,
                            .leaving = {},
                            .now = kNoon,
                            .options = {.spend_pdbs = false, .taint_value = "p"},
                            .strategy_state = state_});
    state_ = plan.strategy_state;
    if (state_ && !plan.moves.empty()) {
      const auto created = static_cast<std::int32_t>(plan.moves.size());
      state_->value = PlanSpec(policy_).strategy_specs.multi_cycle()->after_creating(state_->value, created, kNoon);
    }
    moves_ += plan.moves.size();
    objects_ = strategy_worlds::applied(std::move(objects_), plan, std::mem_fn(&api::PlannedMove::to));
    return plan;
  }
  void run(int cycles) {
    for (int i = 0; i < cycles; ++i) cycle();
  }
  std::size_t nodes_in_use() const {
    std::map<std::string, int> pods;
    for (const auto& pod : objects_.pods) ++pods[pod->node_name.value];
    return pods.size();
  }
  Rounds rounds() const { return strategies::read_rounds(state_.value().value).value(); }
  std::size_t moves() const { return moves_; }

 private:
  api::DeschedulerPolicySpec policy_;
  scheduling::SnapshotInput objects_;
  std::optional<api::StrategyState> state_;
  std::size_t moves_ = 0;
};

PodBuilder web(const std::string& name, const std::string& node) {
  return PodBuilder(name).on(node).cpu(500).label("app", "web").owned_by("ReplicaSet", "web");
}
PodBuilder quorum(const std::string& name, const std::string& node) {
  return PodBuilder(name)
      .on(node)
      .cpu(500)
      .label("app", "quorum")
      .owned_by("StatefulSet", "quorum")
      .anti_affinity("app", "quorum", std::string(api::well_known::kHostnameLabel));
}

/// `full` nodes with eight ordinary pods each and `held` nodes, each held by one pod of a set with mutual
/// anti-affinity.
ClusterBuilder classic(int full, int held) {
  ClusterBuilder cluster;
  for (int n = 0; n < full; ++n) {
    const std::string node = "full-" + std::to_string(n);
    cluster.add(NodeBuilder(node).sized(4000, 4000, 20));
    for (int i = 0; i < 8; ++i) cluster.add(web("web-" + std::to_string(n) + std::to_string(i), node));
  }
  for (int n = 0; n < held; ++n) {
    const std::string node = "held-" + std::to_string(n);
    cluster.add(NodeBuilder(node).sized(4000, 4000, 20)).add(quorum("quorum-" + std::to_string(n), node));
  }
  return cluster;
}

TEST(Alternating, FreesNodesWherePackingAloneFreesNone) {
  Cluster packed(classic(4, 4), "HighNodeUtilization", R"({"thresholds": {"cpu": 60}})");
  packed.run(10);
  EXPECT_EQ(packed.nodes_in_use(), 8U);
  Cluster alternated(classic(4, 4));
  alternated.run(30);
  EXPECT_LE(alternated.nodes_in_use(), 6U);
  EXPECT_EQ(alternated.rounds().phase, "Stopped");
  EXPECT_EQ(static_cast<std::size_t>(alternated.rounds().nodes_freed), 8 - alternated.nodes_in_use());
}

TEST(Alternating, StopsForGood) {
  Cluster cluster(classic(4, 4));
  cluster.run(30);
  const std::size_t moves = cluster.moves();
  cluster.run(10);
  EXPECT_EQ(cluster.moves(), moves);
}

TEST(Alternating, LevelsFirst) {
  Cluster cluster(classic(2, 2));
  const Plan plan = cluster.cycle();
  EXPECT_EQ(rounds_of(plan).phase, "Leveling");
  EXPECT_EQ(rounds_of(plan).round, 1);
  EXPECT_EQ(static_cast<std::size_t>(rounds_of(plan).planned), plan.moves.size());
  ASSERT_FALSE(plan.moves.empty());
  for (const api::PlannedMove& move : plan.moves) {
    EXPECT_TRUE(move.to.starts_with("held")) << move.to;
    EXPECT_EQ(move.strategy, "AlternatingUtilization");
  }
  ASSERT_FALSE(plan.balance.empty());
  EXPECT_EQ(plan.balance[0].strategy, "AlternatingUtilization");
}

TEST(Alternating, PacksInTheSameCycleIfNothingNeedsLeveling) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("a")).add(web("w1", "a")).add(web("w2", "a"));
  builder.add(NodeBuilder("b")).add(web("w3", "b")).add(NodeBuilder("c")).add(web("w4", "c"));
  Cluster cluster(builder);
  const Plan plan = cluster.cycle();
  EXPECT_EQ(rounds_of(plan).phase, "Packing");
  EXPECT_EQ(plan.strategies.size(), 1U) << "one row for both halves";
  EXPECT_EQ(cluster.nodes_in_use(), 1U);
}

TEST(Alternating, KeepsTheSchedulerOffNodesThatAreFreed) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("a")).add(web("w1", "a")).add(web("w2", "a"));
  builder.add(NodeBuilder("b")).add(web("w3", "b")).add(NodeBuilder("free"));
  Cluster cluster(builder);
  EXPECT_EQ(keys_of(cluster.cycle()), "b free ");
  EXPECT_EQ(cluster.nodes_in_use(), 1U);
  EXPECT_EQ(keys_of(cluster.cycle()), "") << "nothing moves, so nothing is tainted";
}

TEST(Alternating, LevelsNothingOntoFreeNodes) {
  ClusterBuilder builder = classic(2, 1);
  builder.add(NodeBuilder("free").sized(4000, 4000, 20));
  Cluster cluster(builder);
  const Plan plan = cluster.cycle();
  ASSERT_FALSE(plan.moves.empty());
  for (const api::PlannedMove& move : plan.moves) EXPECT_EQ(move.to, "held-0");
}

TEST(Alternating, MovesNothingWhileItWaits) {
  const auto cluster = classic(2, 2).build();
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"AlternatingUtilization", kArgs});
  const Plan plan =
      plan_cycle({.spec = PlanSpec(policy), .cluster = *cluster, .leaving = {}, .now = kNoon, .is_settled = false});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_TRUE(rounds_of(plan).waiting);
  EXPECT_EQ(plan.strategies.size(), 1U);
}

TEST(Alternating, IgnoresTheRoundsOfAnotherStrategy) {
  const api::StrategyState others{"Other", R"({"strategy":"Other","round":4,"phase":"Stopped"})"};
  const auto cluster = classic(2, 2).build();
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"AlternatingUtilization", kArgs});
  const Plan plan = plan_cycle(
      {.spec = PlanSpec(policy), .cluster = *cluster, .leaving = {}, .now = kNoon, .strategy_state = others});
  EXPECT_EQ(rounds_of(plan).round, 1);
  EXPECT_EQ(rounds_of(plan).phase, "Leveling");
}

TEST(Alternating, CountsNodesWithPodsThatWouldHaveToMove) {
  ClusterBuilder builder;
  for (const char* name : {"a", "b", "c", "d"}) builder.add(NodeBuilder(name));
  builder.add(PodBuilder("web").on("a").cpu(1000)).add(PodBuilder("agent").on("b").owned_by("DaemonSet", "agent"));
  builder.add(PodBuilder("mirror").on("c").annotate(api::well_known::kMirrorAnnotation, "x"));
  builder.add(PodBuilder("leaving").on("d").terminating());
  const Rounds rounds = rounds_of(Cluster(builder).cycle());
  EXPECT_EQ(rounds.nodes, 4);
  EXPECT_EQ(rounds.nodes_in_use, 1);
  EXPECT_EQ(rounds.imbalance, 0);
}

TEST(Alternating, StartsOverIfItsStateIsUnreadable) {
  const auto cluster = classic(2, 2).build();
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"AlternatingUtilization", kArgs});
  for (const char* state : {"", "null", "[]", "{", R"({"phase":"Dancing","round":7})"}) {
    const Plan plan = plan_cycle({.spec = PlanSpec(policy),
                                  .cluster = *cluster,
                                  .leaving = {},
                                  .now = kNoon,
                                  .strategy_state = {{"AlternatingUtilization", state}}});
    EXPECT_EQ(rounds_of(plan).round, 1) << state;
    EXPECT_EQ(rounds_of(plan).phase, "Leveling") << state;
  }
}

/// Every random cluster must converge, and no round may increase the number of nodes in use.
TEST(Alternating, EndsOnRandomClustersWithNoMoreNodesInUse) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    strategy_worlds::RandomWorld world(seed);
    ClusterBuilder builder;
    for (const auto& node : world.objects().nodes) builder.add(NodeBuilder("").with([&](api::Node& x) { x = *node; }));
    for (const auto& pod : world.objects().pods) builder.add(PodBuilder("").with([&](api::Pod& x) { x = *pod; }));
    Cluster cluster(builder);
    cluster.run(60);
    const std::size_t moves = cluster.moves();
    cluster.run(3);
    EXPECT_EQ(cluster.moves(), moves) << "seed " << seed << ", " << cluster.rounds().phase;
  }
}

// --- notes about extreme thresholds

struct CautionCase {
  std::string name;
  std::string strategy;
  std::string args;
  api::Compatibility compatibility;
  std::string want;  ///< Part of the note, empty if no note is expected
};

class Caution : public testing::TestWithParam<CautionCase> {};

TEST_P(Caution, IsReportedAsANote) {
  api::DeschedulerPolicySpec policy;
  policy.compatibility = GetParam().compatibility;
  policy.strategies.push_back({GetParam().strategy, GetParam().args});
  const auto cluster = classic(1, 1).build();
  const Plan plan = plan_cycle({.spec = PlanSpec(policy), .cluster = *cluster, .leaving = {}, .now = kNoon});
  EXPECT_THAT(plan.errors, IsEmpty()) << "it is accepted";
  std::string notes;
  for (const api::FieldError& note : plan.notes) notes += note.to_string();
  EXPECT_EQ(notes.empty(), GetParam().want.empty()) << notes;
  EXPECT_THAT(notes, testing::HasSubstr(GetParam().want));
}

using enum api::Compatibility;

INSTANTIATE_TEST_SUITE_P(
    Extremes, Caution,
    testing::Values(
        CautionCase{
            "AllAtHundred", "HighNodeUtilization", R"({"thresholds":{"cpu":100,"memory":100}})", kNone,
            "spec.strategies[0].args: thresholds of 100 classify every node as underutilized: each cycle empties"},
        CautionCase{"OneBelow", "HighNodeUtilization", R"({"thresholds":{"cpu":100,"memory":99}})", kNone, ""},
        CautionCase{"OfUpstream", "HighNodeUtilization", R"({"thresholds":{"cpu":100}})", kUpstream, "moves nothing"},
        CautionCase{"InAPool", "HighNodeUtilization",
                    R"({"nodePools":[{"name":"a","nodeSelector":{},"thresholds":{"cpu":100}}]})", kNone,
                    "every node as underutilized"},
        CautionCase{"OfTheHalfThatPacks", "AlternatingUtilization",
                    R"({"lowNodeUtilization":{"thresholds":{"cpu":60},"targetThresholds":{"cpu":75}},
                        "highNodeUtilization":{"thresholds":{"cpu":100}}})",
                    kNone, "every node as underutilized"}),
    [](const auto& test) { return test.param.name; });

}  // namespace alternating_test
}  // namespace planner
