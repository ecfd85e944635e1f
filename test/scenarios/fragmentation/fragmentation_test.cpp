/// A small part of the comparison of frag_proof (make proof).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/aims.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"
#include "test/scenarios/fragmentation/judge.hpp"
#include "test/scenarios/fragmentation/other_strategies.hpp"

namespace fragmentation_test {

std::vector<api::PlannedMove> plan(const scheduling::SnapshotInput& input, const std::string& strategy,
                                   const std::string& args, bool with_hints = false) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({strategy, args});
  const planner::PlanSpec spec(policy);
  const scheduling::ClusterSnapshot cluster(input);
  return planner::plan_cycle({.spec = spec,
                              .cluster = cluster,
                              .leaving = {},
                              .now = builders::kNoon,
                              .options = {.spend_pdbs = false, .taint_value = "proof", .placement_hints = with_hints}})
      .moves;
}

class Fragmented : public testing::TestWithParam<std::string_view> {};

TEST_P(Fragmented, IsFreedNearlyToTheBound) {
  const auto input = fragmentation::make_cluster(GetParam(), 40, 1);
  const auto ours = fragmentation::judge(input, plan(input, "Defragmentation", "{}"));
  const auto packed = fragmentation::run_to_the_end(input, fragmentation::packing());
  const auto alternated = fragmentation::run_to_the_end(input, fragmentation::alternating());
  const auto missed = fragmentation::missed_aims({GetParam(),
                                                  ours,
                                                  {{"HighNodeUtilization", packed.freed, packed.moves},
                                                   {"AlternatingUtilization", alternated.freed, alternated.moves}}});
  EXPECT_THAT(missed, testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Fragmented, testing::ValuesIn(fragmentation::kinds()),
                         [](const auto& test) { return std::string(test.param); });

class Adverse : public testing::TestWithParam<std::string_view> {};

/// Number of nodes that an exact solver frees in these clusters (frag_proof --adverse --nodes 12 --seeds 1 --exact 60),
/// by kind.
constexpr std::array<std::pair<std::string_view, int>, 16> kMaxFreed = {{
    {"talls", 6},
    {"shapes", 7},
    {"limits", 4},
    {"zoned", 4},
    {"pairs", 5},
    {"skew", 3},
    {"ports", 6},
    {"pools", 5},
    {"singles", 5},
    {"besteffort", 6},
    {"daemons", 4},
    {"huge", 2},
    {"gpu", 3},
    {"zoneanti", 5},
    {"primes", 9},
    {"exclusive", 2},
}};

TEST_P(Adverse, IsFreedAsFarAsItCanBe) {
  const auto input = fragmentation::make_cluster(GetParam(), 12, 1);
  const auto ours = fragmentation::judge(input, plan(input, "Defragmentation", "{}"));
  const auto most = std::ranges::find(kMaxFreed, GetParam(), [](const auto& each) { return each.first; });
  ASSERT_NE(most, kMaxFreed.end());
  EXPECT_THAT(ours.broken, testing::IsEmpty());
  EXPECT_EQ(ours.freed(), most->second);
  EXPECT_LE(ours.freed(), ours.bound);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Adverse, testing::ValuesIn(fragmentation::adverse_kinds()),
                         [](const auto& test) { return std::string(test.param); });

class NearlyFull : public testing::TestWithParam<std::string_view> {};

/// Little capacity is free, and the scheduler alone does not choose the pods that fill each gap exactly.
TEST_P(NearlyFull, IsFreedWithoutHints) {
  const auto input = fragmentation::make_cluster(GetParam(), 200, 1);
  const auto ours = fragmentation::judge(input, plan(input, "Defragmentation", "{}"));
  EXPECT_THAT(fragmentation::missed_aims({GetParam(), ours}), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, NearlyFull, testing::Values("crowded", "nearly_full"),
                         [](const auto& test) { return std::string(test.param); });

/// The cluster has more nodes than a scheduler compares. It considers the hinted node only at random, so its own choice
/// decides.
TEST(Hints, FreeAsMuchOfALargeCluster) {
  for (const std::string_view kind : {"mixed", "spread"}) {
    const auto input = fragmentation::make_cluster(kind, 160, 1);
    const auto ours = fragmentation::judge(input, plan(input, "Defragmentation", "{}", true));
    EXPECT_THAT(fragmentation::missed_aims({kind, ours}), testing::IsEmpty());
  }
}

TEST(Classic, TakesTwoMovesANode) {
  const auto input = fragmentation::make_cluster("classic", 40, 2);
  const auto verdict = fragmentation::judge(input, plan(input, "Defragmentation", "{}"));
  EXPECT_EQ(verdict.freed(), verdict.bound);
  EXPECT_EQ(verdict.moves, 2 * verdict.freed());
}

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Returns an attempt that frees `freed` of the 20 nodes that can be freed.
fragmentation::Attempt attempt(std::string_view kind, int freed, int moves) {
  return {kind, {.busy_before = 40, .busy_after = 40 - freed, .bound = 20, .moves = moves, .waves = 1, .broken = {}}};
}

TEST(Aims, AreMetAtTheirEdge) {
  auto edge = attempt("classic", 19, 41);
  edge.rivals = {{"other", 19, 35}, {"weak", 18, 1}};
  edge.optimum = {20, true, 35};
  EXPECT_THAT(fragmentation::missed_aims(edge), IsEmpty());
}

TEST(Aims, NameEachThatIsMissed) {
  EXPECT_THAT(fragmentation::missed_aims(attempt("sizes", 18, 36)), ElementsAre("18 nodes of 20: below 95 %"));
  EXPECT_THAT(fragmentation::missed_aims(attempt("sizes", 21, 42)),
              ElementsAre("more is freed than the bound: that one is wrong"));
  EXPECT_THAT(fragmentation::missed_aims(attempt("classic", 20, 45)),
              ElementsAre("45 moves for 20 nodes: more than 2.2 a node"));
  auto slow = attempt("sizes", 20, 43);
  slow.optimum = {20, true, 35};
  EXPECT_THAT(fragmentation::missed_aims(slow), ElementsAre("43 moves, an exact solver needs 35"));
  auto outdone = attempt("sizes", 19, 43);
  outdone.rivals = {{"other", 20, 35}};
  outdone.methods = {{"more", 20, 44}, {"fewer moves", 19, 35}};
  EXPECT_THAT(
      fragmentation::missed_aims(outdone),
      ElementsAre("other frees 20 nodes, ours 19", "43 moves, other needs 35", "43 moves, fewer moves needs 35"));
  auto humble = attempt("sizes", 19, 38);
  humble.promised = 18;
  EXPECT_THAT(fragmentation::missed_aims(humble), ElementsAre("19 nodes can be freed, the strategy says 18 at most"));
  auto illegal = attempt("sizes", 20, 40);
  illegal.ours.broken = {"a beside b on n1"};
  EXPECT_THAT(fragmentation::missed_aims(illegal), ElementsAre("broken: a beside b on n1"));
}

TEST(Aims, AskLessOnlyWhereThatIsStated) {
  auto few = attempt("huge", 16, 36);
  EXPECT_THAT(fragmentation::missed_aims(few), SizeIs(1));
  few.marks = fragmentation::marks_of("huge", 60, false);
  EXPECT_THAT(fragmentation::missed_aims(few), IsEmpty());
  few.ours.busy_after += 1;
  EXPECT_THAT(fragmentation::missed_aims(few), ElementsAre("15 nodes of 20: below 80 %"));
  auto slow = attempt("huge", 20, 99);
  slow.optimum = {20, true, 30};
  EXPECT_THAT(fragmentation::missed_aims(slow), SizeIs(1));
  slow.marks = fragmentation::marks_of("huge", 12, false);
  EXPECT_THAT(fragmentation::missed_aims(slow), IsEmpty());
  slow.ours.moves = 100;
  EXPECT_THAT(fragmentation::missed_aims(slow), ElementsAre("100 moves, an exact solver needs 30"));
  for (const auto& [kind, nodes, with_hints] :
       {std::tuple("huge", 60, true), {"huge", 200, false}, {"sizes", 60, false}})
    EXPECT_EQ(fragmentation::marks_of(kind, nodes, with_hints).min_freed, 95);
}

TEST(Aims, AreMeasuredByTheOptimumWhereItIsBelowTheBound) {
  auto proven = attempt("sizes", 18, 36);
  proven.optimum = {18, true, 36};
  EXPECT_THAT(fragmentation::missed_aims(proven), IsEmpty());
}

api::PlannedMove move(const std::string& pod, const std::string& from, const std::string& to, int wave) {
  return {"default", pod, "", from, to, "", "", {}, wave};
}

/// n1 and n2 are full, n3 has capacity for one pod.
scheduling::SnapshotInput crowded() {
  builders::ClusterBuilder cluster;
  for (const char* name : {"n1", "n2", "n3"}) cluster.add(builders::NodeBuilder(name));
  const auto pod = [](const char* name, const char* node) {
    return builders::PodBuilder(name).on(node).label("app", name);
  };
  cluster.add(pod("a", "n1").cpu(4000)).add(pod("b", "n2").cpu(4000));
  return cluster.input();
}

TEST(Judge, CountsAPodOnBothNodesUntilItsWaveIsDone) {
  const auto together = fragmentation::judge(crowded(), {move("a", "n1", "n3", 1), move("b", "n2", "n1", 1)});
  EXPECT_FALSE(together.broken.empty());
  const auto in_turn = fragmentation::judge(crowded(), {move("a", "n1", "n3", 1), move("b", "n2", "n1", 2)});
  EXPECT_TRUE(in_turn.broken.empty());
}

TEST(Judge, SeesAPodThatMovesTwice) {
  const auto verdict = fragmentation::judge(crowded(), {move("a", "n1", "n3", 1), move("a", "n3", "n1", 2)});
  EXPECT_FALSE(verdict.broken.empty());
}

/// The judge's verdict about one pod of app "a" that moves from n1 to n2, each in its own zone.
struct Passage {
  builders::ClusterBuilder cluster{};
  builders::NodeBuilder from = builders::NodeBuilder("n1").label(api::well_known::kZoneLabel, "z1");
  builders::NodeBuilder to = builders::NodeBuilder("n2").label(api::well_known::kZoneLabel, "z2");
  builders::PodBuilder pod = builders::PodBuilder("a").on("n1").label("app", "a");

  std::vector<std::string> broken() {
    cluster.add(from).add(to).add(pod);
    return fragmentation::judge(cluster.input(), {move("a", "n1", "n2", 1)}).broken;
  }
};

TEST(Judge, AcceptsAnOrdinaryMove) { EXPECT_THAT(Passage{}.broken(), IsEmpty()); }

TEST(Judge, SeesMovesOfFixedPods) {
  Passage bare;
  bare.pod.bare();
  EXPECT_THAT(bare.broken(), ElementsAre("a may not move"));
  Passage critical;
  critical.pod.priority(2'000'000'000);
  EXPECT_THAT(critical.broken(), ElementsAre("a may not move"));
  Passage daemon;
  daemon.pod.owned_by("DaemonSet", "agent");
  EXPECT_THAT(daemon.broken(), ElementsAre("a may not move"));
}

TEST(Judge, SeesAPortThatIsTaken) {
  const auto asks = [](api::Pod& pod) { pod.containers.edit()[0].host_ports.push_back({"", "TCP", 80}); };
  Passage taken;
  taken.cluster.add(builders::PodBuilder("b").on("n2").label("app", "b").with(asks));
  taken.pod.with(asks);
  EXPECT_THAT(taken.broken(), ElementsAre("a finds port 80 taken on n2"));
}

TEST(Judge, SeesAResourceThatOnlySomeNodesHave) {
  Passage lacking;
  lacking.from.offer("example.com/gpu", 2);
  lacking.pod.request("example.com/gpu", 1000);
  EXPECT_THAT(lacking.broken(), ElementsAre("n2 has too little example.com/gpu"));
}

TEST(Judge, SeesARequiredNodeAffinity) {
  Passage far;
  far.pod.affinity([](api::Affinity& affinity) {
    affinity.required_node_terms = {
        {{{std::string(api::well_known::kZoneLabel), api::SelectorOperator::kIn, {"z1"}}}, {}}};
  });
  EXPECT_THAT(far.broken(), ElementsAre("a may not be on n2"));
}

TEST(Judge, SeesAnAntiAffinityOverAZone) {
  Passage repelled;
  const std::string zone(api::well_known::kZoneLabel);
  repelled.cluster.add(builders::NodeBuilder("n3").label(zone, "z2"))
      .add(builders::PodBuilder("b").on("n3").label("app", "b").anti_affinity("app", "a", zone));
  EXPECT_THAT(repelled.broken(), ElementsAre("a beside b on n2"));
}

TEST(Judge, SeesATaintAndASelector) {
  Passage tainted;
  tainted.to.taint("dedicated");
  EXPECT_THAT(tainted.broken(), ElementsAre("a does not tolerate n2"));
  Passage selective;
  selective.pod.with([](api::Pod& pod) { pod.node_selector = {{"pool", "a"}}; });
  EXPECT_THAT(selective.broken(), ElementsAre("a may not be on n2"));
}

TEST(Judge, SeesAVolumeOfAnotherZone) {
  Passage far;
  far.pod.with([](api::Pod& pod) { pod.volumes.push_back({api::VolumeKind::kPersistentVolumeClaim, "data"}); });
  api::PersistentVolume volume;
  volume.meta.name = "pv-data";
  volume.required_node_terms = {{{{std::string(api::well_known::kZoneLabel), api::SelectorOperator::kIn, {"z1"}}}, {}}};
  far.cluster.add(volume);
  EXPECT_THAT(far.broken(), ElementsAre("a is far from its volume"));
}

TEST(Judge, SeesAffinitiesBothWays) {
  const auto other = [] { return builders::PodBuilder("b").on("n2").label("app", "b"); };
  Passage repelled;
  repelled.cluster.add(other().anti_affinity("app", "a", std::string(api::well_known::kHostnameLabel)));
  EXPECT_THAT(repelled.broken(), ElementsAre("a beside b on n2"));
  Passage repelling;
  repelling.cluster.add(other());
  repelling.pod.anti_affinity("app", "b", std::string(api::well_known::kHostnameLabel));
  EXPECT_THAT(repelling.broken(), ElementsAre("a beside b on n2"));
  Passage alone;
  alone.cluster.add(other());
  alone.pod.affinity([](api::Affinity& affinity) {
    api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
    term.label_selector = builders::labels_in("app", {"c"});
    term.topology_key = api::well_known::kZoneLabel;
  });
  EXPECT_THAT(alone.broken(), ElementsAre("a has nobody that it asks for on n2"));
}

TEST(Judge, SeesAFollowerOfAMovingLeader) {
  builders::ClusterBuilder cluster;
  for (const char* name : {"n1", "n2"})
    cluster.add(builders::NodeBuilder(name).label(api::well_known::kZoneLabel, "z1"));
  cluster.add(builders::PodBuilder("leader").on("n1").label("app", "leader"));
  cluster.add(builders::PodBuilder("follower").on("n1").affinity([](api::Affinity& affinity) {
    api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
    term.label_selector = builders::labels_in("app", {"leader"});
    term.topology_key = api::well_known::kZoneLabel;
  }));
  const auto broken = [&](std::int32_t wave) {
    return fragmentation::judge(cluster.input(), {move("leader", "n1", "n2", 1), move("follower", "n1", "n2", wave)})
        .broken;
  };
  EXPECT_THAT(broken(1), ElementsAre("follower has nobody that it asks for on n2"));
  EXPECT_THAT(broken(2), IsEmpty());
}

TEST(Judge, SeesASkew) {
  Passage skewed;
  skewed.cluster.add(builders::PodBuilder("b").on("n2").label("app", "a"));
  skewed.pod.with([](api::Pod& pod) {
    api::TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
    constraint.max_skew = 1;
    constraint.topology_key = api::well_known::kZoneLabel;
    constraint.label_selector = builders::labels_in("app", {"a"});
  });
  EXPECT_THAT(skewed.broken(), ElementsAre("a is skewed on n2"));
}

TEST(Judge, SeesABudgetThatAWaveOverdraws) {
  builders::ClusterBuilder cluster;
  for (const char* name : {"n1", "n2"}) cluster.add(builders::NodeBuilder(name));
  for (const char* name : {"a1", "a2"}) cluster.add(builders::PodBuilder(name).on("n1").label("app", "a"));
  cluster.add(builders::pdb("budget", "a", 1));
  const auto together = fragmentation::judge(cluster.input(), {move("a1", "n1", "n2", 1), move("a2", "n1", "n2", 1)});
  EXPECT_THAT(together.broken, ElementsAre("budget is overdrawn"));
  const auto in_turn = fragmentation::judge(cluster.input(), {move("a1", "n1", "n2", 1), move("a2", "n1", "n2", 2)});
  EXPECT_THAT(in_turn.broken, IsEmpty());
}

TEST(Judge, SeesMovesThatCannotBe) {
  const auto broken = [](std::vector<api::PlannedMove> moves) { return fragmentation::judge(crowded(), moves).broken; };
  EXPECT_THAT(broken({move("nobody", "n1", "n3", 1)}), ElementsAre("nobody is unknown"));
  EXPECT_THAT(broken({move("a", "n2", "n3", 1)}), ElementsAre("a is not on n2"));
  EXPECT_THAT(broken({move("a", "n1", "nowhere", 1)}), ElementsAre("a goes nowhere"));
  EXPECT_THAT(broken({move("a", "n1", "n1", 1)}), ElementsAre("a goes where it is"));
  EXPECT_THAT(broken({move("a", "n1", "n3", 2), move("b", "n2", "n1", 1)}),
              testing::Contains("waves are out of order"));
}

}  // namespace fragmentation_test
