/// A small part of what frag_proof compares (make proof).

#include <gtest/gtest.h>

#include "planning/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"
#include "test/scenarios/fragmentation/judge.hpp"
#include "test/scenarios/fragmentation/other_strategies.hpp"

namespace fragmentation_test {

std::vector<api::PlannedMove> plan(const scheduling::SnapshotInput& input, const std::string& strategy,
                                   const std::string& args) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({strategy, args});
  const planning::PlanSpec spec(policy);
  const scheduling::ClusterSnapshot cluster(input);
  return planning::plan_cycle({.spec = spec,
                               .cluster = cluster,
                               .leaving = {},
                               .now = builders::kNoon,
                               .options = {.spend_pdbs = false, .taint_value = "proof"}})
      .moves;
}

class Fragmented : public testing::TestWithParam<std::string_view> {};

TEST_P(Fragmented, IsFreedNearlyToTheBound) {
  const auto input = fragmentation::make_cluster(GetParam(), 40, 1);
  const auto ours = fragmentation::judge(input, plan(input, "Defragmentation", "{}"));
  EXPECT_TRUE(ours.broken.empty()) << ours.broken.front();
  EXPECT_GE(ours.freed(), fragmentation::run_to_the_end(input, fragmentation::packing()).freed);
  EXPECT_GE(ours.freed(), fragmentation::run_to_the_end(input, fragmentation::alternating()).freed);
  EXPECT_GE(ours.freed() * 100, ours.bound * 80);
  EXPECT_LE(ours.freed(), ours.bound) << "the bound is wrong";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Fragmented, testing::ValuesIn(fragmentation::kinds()),
                         [](const auto& info) { return std::string(info.param); });

TEST(Classic, TakesTwoMovesANode) {
  const auto input = fragmentation::make_cluster("classic", 40, 2);
  const auto verdict = fragmentation::judge(input, plan(input, "Defragmentation", "{}"));
  EXPECT_EQ(verdict.freed(), verdict.bound);
  EXPECT_EQ(verdict.moves, 2 * verdict.freed());
}

api::PlannedMove move(const std::string& pod, const std::string& from, const std::string& to, int wave) {
  return {"default", pod, "", from, to, "", "", {}, wave};
}

/// n1 and n2 are full, n3 has room for one.
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

}  // namespace fragmentation_test
