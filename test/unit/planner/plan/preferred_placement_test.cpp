/// The strategy PreferredPlacement in complete planning cycles. It asks the plan builder where replacements go.

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "planner/plan/planner.hpp"
#include "planner/strategies/preferences/preferred_placement.hpp"
#include "test/unit/planner/plan/strategy_worlds.hpp"

namespace planner {
namespace preferred_placement_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::labels_in;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::ClusterSnapshot;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kHost = "kubernetes.io/hostname";

api::DeschedulerPolicySpec policy_of(const std::string& args = "{}") {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"PreferredPlacement", args});
  return policy;
}

Plan plan_of(const scheduling::SnapshotInput& input, const api::DeschedulerPolicySpec& policy = policy_of()) {
  const PlanSpec spec(policy);
  EXPECT_THAT(spec.strategy_specs.errors, IsEmpty());
  const ClusterSnapshot cluster(input);
  return plan_cycle({.spec = spec, .cluster = cluster, .leaving = {}, .now = kNoon});
}
Plan plan_of(const ClusterBuilder& builder, const std::string& args = "{}") {
  return plan_of(builder.input(), policy_of(args));
}

std::vector<std::string> moves_of(const Plan& plan) {
  std::vector<std::string> moves;
  for (const api::PlannedMove& move : plan.moves) moves.push_back(move.pod + " > " + move.to);
  return moves;
}

PodBuilder pod(const std::string& name, const std::string& node) { return PodBuilder(name).on(node).cpu(100); }

PodBuilder prefers_node(PodBuilder pod, const std::string& disk, std::int32_t weight = 50) {
  return pod.affinity([&](api::Affinity& affinity) {
    affinity.preferred_node_terms.push_back({weight, {{{"disk", api::SelectorOperator::kIn, {disk}}}, {}}});
  });
}
api::PodAffinityTerm near(const std::string& app, const std::string& topology) {
  api::PodAffinityTerm term;
  term.label_selector = labels_in("app", {app});
  term.topology_key = topology;
  return term;
}
PodBuilder prefers_pod(PodBuilder pod, const std::string& app, const std::string& topology = kHost) {
  return pod.affinity([&](api::Affinity& x) { x.preferred_pod_affinity.push_back({100, near(app, topology)}); });
}
PodBuilder avoids_pod(PodBuilder pod, const std::string& app, const std::string& topology = kHost) {
  return pod.affinity([&](api::Affinity& x) { x.preferred_pod_anti_affinity.push_back({100, near(app, topology)}); });
}
PodBuilder spreads(PodBuilder pod, const std::string& app, const std::string& topology = "zone") {
  return pod.label("app", app).with([&](api::Pod& x) {
    api::TopologySpreadConstraint constraint;
    constraint.topology_key = topology;
    constraint.max_skew = 1;
    constraint.schedule_anyway = true;
    constraint.label_selector = labels_in("app", {app});
    x.topology_spread.push_back(constraint);
  });
}

// --- moves

struct PlacementCase {
  std::string name;
  std::function<void(ClusterBuilder&)> arrange;
  std::string args;
  std::vector<std::string> want;
};

class PreferredPlacementTest : public testing::TestWithParam<PlacementCase> {};

TEST_P(PreferredPlacementTest, Moves) {
  ClusterBuilder cluster;
  GetParam().arrange(cluster);
  const Plan plan = plan_of(cluster, GetParam().args);
  EXPECT_EQ(moves_of(plan), GetParam().want) << testing::PrintToString(plan.refusals.size());
}

/// The pod runs on "old". Its preferred node "ssd" has come back.
void node_came_back(ClusterBuilder& cluster) {
  cluster.add(NodeBuilder("old"))
      .add(NodeBuilder("ssd").label("disk", "ssd"))
      .add(prefers_node(pod("p", "old"), "ssd"));
}
void repelled(ClusterBuilder& cluster) {
  cluster.add(NodeBuilder("a")).add(NodeBuilder("b"));
  for (const char* name : {"p", "q"}) cluster.add(avoids_pod(pod(name, "a").label("app", "x"), "x"));
}
void attracted(ClusterBuilder& cluster) {
  cluster.add(NodeBuilder("a")).add(NodeBuilder("b"));
  cluster.add(prefers_pod(pod("p", "a"), "cache")).add(pod("cache", "b").label("app", "cache"));
}
void crowded_zone(ClusterBuilder& cluster) {
  cluster.add(NodeBuilder("a").label("zone", "z1")).add(NodeBuilder("b").label("zone", "z2"));
  for (const char* name : {"p1", "p2", "p3", "p4"}) cluster.add(spreads(pod(name, "a"), "x"));
}

/// The zone with fewer pods has so little free capacity that the scheduler would not choose it.
void fuller_zone(ClusterBuilder& cluster) {
  cluster.add(NodeBuilder("a").label("zone", "z1")).add(NodeBuilder("b").label("zone", "z2"));
  cluster.add(PodBuilder("w").on("b").cpu(3200).memory(3600));
  for (int i = 0; i < 9; ++i) cluster.add(spreads(pod("p" + std::to_string(i), "a"), "x"));
  for (int i = 0; i < 7; ++i) cluster.add(spreads(pod("q" + std::to_string(i), "b"), "x"));
}

INSTANTIATE_TEST_SUITE_P(
    Preferences, PreferredPlacementTest,
    testing::Values(
        PlacementCase{"ToANodeThatCameBack", node_came_back, "{}", {"p > ssd"}},
        PlacementCase{"OnlyForPreferencesThatCount", node_came_back, R"({"preferences":["PodAffinity"]})", {}},
        PlacementCase{"ForOneThatCounts", node_came_back, R"({"preferences":["NodeAffinity"]})", {"p > ssd"}},
        PlacementCase{"AwayFromWhomItAvoids", repelled, "{}", {"p > b"}},
        PlacementCase{"NotWhereThatDoesNotCount", repelled, R"({"preferences":["TopologySpread"]})", {}},
        PlacementCase{"ToWhomItPrefers", attracted, "{}", {"p > b"}},
        PlacementCase{"ToTheEmptyZone", crowded_zone, "{}", {"p1 > b", "p2 > b"}},
        PlacementCase{"OnlyForAsMuch", crowded_zone, R"({"minGain":100})", {"p1 > b"}},
        PlacementCase{"NoMoreThanThat", crowded_zone, R"({"maxMoves":1})", {"p1 > b"}},
        PlacementCase{"NotFromExcludedNamespaces", node_came_back, R"({"namespaces":{"exclude":["default"]}})", {}},
        PlacementCase{"OnlySelectedPods", node_came_back, R"({"labelSelector":{"matchLabels":{"app":"other"}}})", {}},
        PlacementCase{"NotWithoutAPreference",
                      [](ClusterBuilder& c) {
                        c.add(NodeBuilder("old")).add(NodeBuilder("ssd").label("disk", "ssd")).add(pod("p", "old"));
                      },
                      "{}",
                      {}},
        PlacementCase{"NotWhereItDoesNotFit",
                      [](ClusterBuilder& c) {
                        c.add(NodeBuilder("old")).add(NodeBuilder("ssd").label("disk", "ssd").sized(50, 4000, 10));
                        c.add(prefers_node(pod("p", "old"), "ssd"));
                      },
                      "{}",
                      {}},
        PlacementCase{"NotToACordonedNode",
                      [](ClusterBuilder& c) {
                        c.add(NodeBuilder("old")).add(NodeBuilder("ssd").label("disk", "ssd").cordoned());
                        c.add(prefers_node(pod("p", "old"), "ssd"));
                      },
                      "{}",
                      {}},
        PlacementCase{"NotAgainstTheScheduler", fuller_zone, "{}", {}},
        PlacementCase{"NotAPodWithoutOwner",
                      [](ClusterBuilder& c) {
                        c.add(NodeBuilder("old")).add(NodeBuilder("ssd").label("disk", "ssd"));
                        c.add(prefers_node(pod("p", "old").bare(), "ssd"));
                      },
                      "{}",
                      {}}),
    [](const auto& test) { return test.param.name; });

TEST(PreferredPlacement, ReportsWhatKeepsAPod) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("old")).add(NodeBuilder("ssd").label("disk", "ssd"));
  cluster.add(prefers_node(pod("p", "old"), "ssd").annotate("karpenter.sh/do-not-disrupt", "true"));
  const Plan plan = plan_of(cluster);
  EXPECT_THAT(plan.moves, IsEmpty());
  ASSERT_THAT(plan.refusals, SizeIs(1)) << "once";
  EXPECT_EQ(plan.refusals[0].reason, "DoNotDisrupt");
}

struct StuckCase {
  std::string name;
  void (*arrange)(ClusterBuilder&);
  std::string reason;  ///< Reason why the pod p stays
  std::string says;
};

class StuckPreferences : public testing::TestWithParam<StuckCase> {};

TEST_P(StuckPreferences, AreReported) {
  ClusterBuilder cluster;
  GetParam().arrange(cluster);
  const Plan plan = plan_of(cluster);
  EXPECT_THAT(plan.moves, IsEmpty());
  ASSERT_THAT(plan.refusals, SizeIs(GetParam().reason.empty() ? 0 : 1));
  if (GetParam().reason.empty()) return;
  EXPECT_EQ(plan.refusals[0].pod, "p");
  EXPECT_EQ(plan.refusals[0].reason, GetParam().reason);
  EXPECT_THAT(plan.refusals[0].message, testing::HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Of, StuckPreferences,
    testing::Values(
        StuckCase{"NodeAffinityWithoutCapacity",
                  [](ClusterBuilder& c) {
                    c.add(NodeBuilder("old")).add(NodeBuilder("ssd").label("disk", "ssd").sized(50, 4000, 10));
                    c.add(prefers_node(pod("p", "old"), "ssd"));
                  },
                  "NoMatchingNodeFits", "other nodes match its preferred node affinity better"},
        StuckCase{
            "PodAffinityWithoutCapacity",
            [](ClusterBuilder& c) {
              c.add(NodeBuilder("a")).add(NodeBuilder("b").sized(50, 4000, 10));
              c.add(prefers_pod(pod("p", "a"), "cache")).add(pod("cache", "b").cpu(10).label("app", "cache"));
            },
            "NowhereBetter",
            "other nodes match its preferred pod affinity better, but it does not fit on any of them: 1 of 1 nodes: "},
        StuckCase{"PodAntiAffinityToACordonedNode",
                  [](ClusterBuilder& c) {
                    c.add(NodeBuilder("a")).add(NodeBuilder("b").cordoned());
                    c.add(avoids_pod(pod("p", "a"), "noisy")).add(pod("noise", "a").label("app", "noisy"));
                  },
                  "NowhereBetter", "the node is cordoned (b)"},
        StuckCase{"SpreadToACordonedNode",
                  [](ClusterBuilder& c) {
                    c.add(NodeBuilder("a").label("zone", "z1")).add(NodeBuilder("b").label("zone", "z2").cordoned());
                    for (const char* name : {"q", "r", "s"}) c.add(pod(name, "a").label("app", "x"));
                    c.add(spreads(pod("p", "a"), "x"));
                  },
                  "NowhereBetter", "other nodes match its topology spread constraints (ScheduleAnyway) better"},
        StuckCase{"BothButOneRow",
                  [](ClusterBuilder& c) {
                    c.add(NodeBuilder("old")).add(NodeBuilder("ssd").label("disk", "ssd").cordoned());
                    c.add(prefers_pod(prefers_node(pod("p", "old"), "ssd"), "cache"));
                    c.add(pod("cache", "ssd").label("app", "cache"));
                  },
                  "NoMatchingNodeFits", ""},
        StuckCase{"NoPodToBeNear",
                  [](ClusterBuilder& c) {
                    c.add(NodeBuilder("a")).add(NodeBuilder("b").cordoned()).add(prefers_pod(pod("p", "a"), "cache"));
                  },
                  "", ""},
        StuckCase{"ProtectedPodsOnce",
                  [](ClusterBuilder& c) {
                    c.add(NodeBuilder("a")).add(NodeBuilder("b").cordoned());
                    c.add(prefers_pod(pod("p", "a"), "cache").annotate("karpenter.sh/do-not-disrupt", "true"));
                    c.add(pod("cache", "b").label("app", "cache"));
                  },
                  "DoNotDisrupt", ""}),
    [](const auto& test) { return test.param.name; });

TEST(PreferredPlacement, ReportsPodsThatTheSchedulerWouldPutElsewhere) {
  ClusterBuilder cluster;
  fuller_zone(cluster);
  const Plan plan = plan_of(cluster);
  ASSERT_THAT(plan.refusals, SizeIs(9));
  for (const api::RefusedPod& row : plan.refusals) {
    EXPECT_EQ(row.node, "a");
    EXPECT_EQ(row.reason, "SchedulerDisagrees");
    EXPECT_THAT(row.message, testing::HasSubstr("the scheduler would place its replacement on a, where"));
  }
}

TEST(PreferredPlacement, ReportsPodsThatWouldHaveToMoveAgain) {
  // "chaser" follows "shy", which avoids it.
  ClusterBuilder cluster;
  for (const char* name : {"a", "b", "c"}) cluster.add(NodeBuilder(name).label("zone", name));
  cluster.add(spreads(pod("shy", "a"), "chaser").label("app", "shy"));
  cluster.add(prefers_pod(pod("chaser", "b").label("app", "chaser"), "shy"));
  const Plan plan = plan_of(cluster);
  ASSERT_THAT(plan.refusals, SizeIs(1));
  EXPECT_EQ(plan.refusals[0].pod, "chaser");
  EXPECT_EQ(plan.refusals[0].reason, "NowhereBetter");
  EXPECT_THAT(plan.refusals[0].message, testing::HasSubstr("but it would have to move again"));
}

TEST(PreferredPlacement, ReportsNoPodThatALimitDefersToTheNextCycle) {
  ClusterBuilder cluster;
  crowded_zone(cluster);
  const Plan plan = plan_of(cluster, R"({"maxMoves":1})");
  EXPECT_THAT(plan.moves, SizeIs(1));
  EXPECT_THAT(plan.refusals, IsEmpty());
}

TEST(PreferredPlacement, ReportsTheGain) {
  ClusterBuilder cluster;
  node_came_back(cluster);
  EXPECT_EQ(plan_of(cluster).moves.at(0).reason, "other nodes match its preferences better: by 100 points");
}

/// "chaser" prefers to be with "shy", "shy" prefers to be away from it: after a move of either, the other would follow.
TEST(PreferredPlacement, PodsDoNotChaseEachOther) {
  ClusterBuilder cluster;
  for (const char* name : {"a", "b", "c"}) cluster.add(NodeBuilder(name).label("zone", name));
  cluster.add(spreads(pod("shy", "a"), "chaser").label("app", "shy"));
  cluster.add(prefers_pod(pod("chaser", "b").label("app", "chaser"), "shy"));
  scheduling::SnapshotInput objects = cluster.input();
  std::size_t moves = 0;
  for (int cycle = 0; cycle < 10; ++cycle) {
    const Plan plan = plan_of(objects);
    moves += plan.moves.size();
    objects = strategy_worlds::applied(std::move(objects), plan, std::mem_fn(&api::PlannedMove::to));
  }
  EXPECT_LE(moves, 1U);
}

/// A pod whose placement is already the best takes 50 steps, another pod takes 50 plus one per node.
TEST(PreferredPlacement, StopsAtTheStepLimitAndReportsIt) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("a")).add(NodeBuilder("b").label("disk", "ssd"));
  builder.add(prefers_node(pod("one", "a"), "ssd")).add(prefers_node(pod("two", "a"), "ssd"));
  const ClusterSnapshot cluster(builder.input());
  PlanSpec spec(policy_of());
  const auto plan_with = [&](std::int64_t steps) {
    spec.strategy_specs.runnable.at(0).strategy =
        std::make_shared<strategies::StrategyOf<strategies::PreferredPlacement>>(
            strategies::PreferredPlacement{.max_steps = steps});
    return plan_cycle({.spec = spec, .cluster = cluster, .leaving = {}, .now = kNoon});
  };
  EXPECT_THAT(moves_of(plan_with(10'000)), ElementsAre("one > b", "two > b"));
  for (const std::int64_t steps : {0, 60, 110, 220}) {
    const Plan plan = plan_with(steps);
    EXPECT_THAT(moves_of(plan), IsEmpty()) << "half of a plan is none: " << steps;
    EXPECT_THAT(plan.strategies.at(0).problem, testing::HasSubstr("its step limit"));
  }
}

// --- no oscillation

/// Cluster whose pods have preferences of every kind, for and against one another.
class Preferring {
 public:
  explicit Preferring(unsigned seed) : random_(seed) {
    const int nodes = pick(2, 7);
    for (int i = 0; i < nodes; ++i) {
      NodeBuilder node("n" + std::to_string(i));
      node.sized(pick(1, 4) * 1000, 4000, 12).label("zone", "z" + std::to_string(i % 3));
      if (flip()) node.label("disk", "ssd");
      cluster.add(node);
    }
    const int pods = pick(2, 20);
    for (int i = 0; i < pods; ++i) cluster.add(make_pod(i, nodes));
  }
  ClusterBuilder cluster;

 private:
  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  bool flip() { return pick(0, 1) == 1; }
  std::string app() { return std::string(1, static_cast<char>('a' + pick(0, 2))); }
  std::string topology() { return flip() ? "zone" : kHost; }
  PodBuilder make_pod(int number, int nodes) {
    PodBuilder made = PodBuilder("p" + std::to_string(100 + number));
    made.on("n" + std::to_string(pick(0, nodes - 1))).cpu(pick(0, 8) * 100).memory(pick(0, 400));
    made.label("app", app()).owned_by(flip() ? "ReplicaSet" : "StatefulSet", "rs" + std::to_string(pick(0, 3)));
    if (flip()) made = prefers_node(made, flip() ? "ssd" : "hdd", pick(1, 100));
    if (pick(0, 2) == 0) made = prefers_pod(made, app(), topology());
    if (pick(0, 2) == 0) made = avoids_pod(made, app(), topology());
    if (flip()) made = spreads_by(made);
    return made;
  }
  PodBuilder spreads_by(PodBuilder pod) {
    const std::string key = topology();
    return pod.with([&](api::Pod& x) {
      api::TopologySpreadConstraint constraint;
      constraint.topology_key = key;
      constraint.max_skew = pick(1, 3);
      constraint.schedule_anyway = true;
      constraint.label_selector = labels_in("app", {app()});
      x.topology_spread.push_back(constraint);
    });
  }

  std::mt19937 random_;
};

TEST(PreferredPlacement, APlanOnTheOutcomeOfAPlanMovesNothing) {
  std::size_t moved = 0;
  std::size_t plans = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    for (const char* args : {"{}", R"({"minGain":1})"}) {
      const scheduling::SnapshotInput before = Preferring(seed).cluster.input();
      const Plan first = plan_of(before, policy_of(args));
      moved += first.moves.size();
      plans += first.moves.empty() ? 0 : 1;
      for (const api::RefusedPod& row : first.refusals)
        EXPECT_FALSE(row.reason == "SchedulerDisagrees" && row.message.starts_with("it would leave"))
            << "seed " << seed << ": an offer is refused: " << row.message;
      const auto after = strategy_worlds::applied(before, first, std::mem_fn(&api::PlannedMove::to));
      const Plan second = plan_of(after, policy_of(args));
      EXPECT_THAT(moves_of(second), IsEmpty())
          << "seed " << seed << " " << args << " after " << testing::PrintToString(moves_of(first));
    }
  }
  EXPECT_GT(plans, 300U) << "or this says little";
  EXPECT_GT(moved, 1000U);
}

TEST(PreferredPlacement, EachMoveOfAPlanGainsWhenItIsMade) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const Plan plan = plan_of(Preferring(seed).cluster, R"({"minGain":30})");
    std::set<std::string> moved;
    for (const api::PlannedMove& move : plan.moves) {
      EXPECT_TRUE(moved.insert(move.pod).second) << "seed " << seed;
      const std::size_t at = move.reason.find("by ");
      ASSERT_NE(at, std::string::npos);
      EXPECT_GE(std::stoi(move.reason.substr(at + 3)), 30) << "seed " << seed;
    }
  }
}

TEST(PreferredPlacement, LimitsCutAPlanAndLaterCyclesFinishIt) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    scheduling::SnapshotInput objects = Preferring(seed).cluster.input();
    api::DeschedulerPolicySpec policy = policy_of();
    policy.limits.per_cycle.total = 1;
    int cycles = 0;
    for (; cycles < 100; ++cycles) {
      const Plan plan = plan_of(objects, policy);
      ASSERT_LE(plan.moves.size(), 1U);
      if (plan.moves.empty()) break;
      objects = strategy_worlds::applied(std::move(objects), plan, std::mem_fn(&api::PlannedMove::to));
    }
    EXPECT_LT(cycles, 100) << "seed " << seed;
  }
}

}  // namespace preferred_placement_test
}  // namespace planner
