/// Plans of every strategy, carried out by the simulator's scheduler: the cycles must come to an end, and the
/// strategy's violations must never increase. Strategy and seed reproduce a failure.

#include <gtest/gtest.h>

#include <optional>

#include "planner/plan/target.hpp"
#include "simulator/scheduler/scheduler.hpp"
#include "test/unit/planner/plan/strategy_worlds.hpp"

namespace strategy_simulation_test {

using strategy_worlds::applied;
using strategy_worlds::ClusterSnapshot;
using strategy_worlds::kNoon;
using strategy_worlds::RandomWorld;
using strategy_worlds::Tried;

/// Evicts the pods in the order of the plan. The scheduler binds each replacement while the old pod terminates, or
/// after its end if the replacement needs its capacity.
std::map<std::string, std::string> placements(const ClusterSnapshot& cluster, const planner::Plan& plan,
                                              scheduling::NodeScoring scoring) {
  scheduling::WhatIf what_if(cluster);
  std::map<std::string, std::string> nodes;
  for (const api::PlannedMove& move : plan.moves) {
    const scheduling::PodIndex pod = cluster.find_pod(move.ns, move.pod).value();
    std::optional<scheduling::NodeIndex> node;
    if (!move.to.empty() && planner::is_replaced_at_once(cluster, pod)) {
      node =
          simulator::choose_node({what_if, pod, scheduling::FitLevel::kScheduler, scheduling::OldPod::kStays}, scoring);
    }
    what_if.move(pod, scheduling::kNoNode);
    if (move.to.empty()) continue;  // no replacement is created
    if (!node) node = simulator::choose_node({what_if, pod, scheduling::FitLevel::kScheduler}, scoring);
    if (!node) continue;
    what_if.move(pod, *node);
    nodes[move.uid] = cluster.node(*node).meta.name;
  }
  return nodes;
}

constexpr unsigned kSeeds = 100;

/// HighNodeUtilization requires a scheduler that packs.
scheduling::NodeScoring scoring_for(const Tried& tried) {
  using enum scheduling::NodeScoring;
  return tried.strategy == "HighNodeUtilization" ? kMostAllocated : kLeastAllocated;
}

void becomes_quiet(const Tried& tried, unsigned seed) {
  constexpr int kMaxCycles = 200;
  RandomWorld world(seed);
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{tried.strategy, tried.args}};
  spec.limits.per_cycle = world.limits();
  const planner::PlanSpec plan_spec(spec);
  scheduling::SnapshotInput objects = world.objects();
  std::int64_t before = tried.violations(ClusterSnapshot(objects));
  for (int cycle = 0; cycle < kMaxCycles; ++cycle) {
    const ClusterSnapshot cluster(objects);
    const auto plan = planner::plan_cycle({.spec = plan_spec, .cluster = cluster, .leaving = {}, .now = kNoon});
    if (plan.moves.empty()) return;
    const auto nodes = placements(cluster, plan, scoring_for(tried));
    const auto placement_of = [&](const api::PlannedMove& move) {
      const auto at = nodes.find(move.uid);
      return at == nodes.end() ? std::string() : at->second;
    };
    objects = applied(std::move(objects), plan, placement_of);
    const std::int64_t after = tried.violations(ClusterSnapshot(objects));
    ASSERT_LE(after, before) << "in cycle " << cycle;
    before = after;
  }
  FAIL() << "moves in each of " << kMaxCycles << " cycles";
}

class StrategySimulation : public testing::TestWithParam<std::size_t> {};

TEST_P(StrategySimulation, BecomesQuietAndNeverMakesItWorse) {
  const Tried& tried = strategy_worlds::all_tried()[GetParam()];
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(tried.strategy + ", seed " + std::to_string(seed));
    becomes_quiet(tried, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, StrategySimulation,
                         testing::Range<std::size_t>(0, strategy_worlds::all_tried().size()));

}  // namespace strategy_simulation_test
