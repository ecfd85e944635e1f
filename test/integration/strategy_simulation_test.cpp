/// Plans of the Deschedule strategies carried out by the simulator's scheduler, whose choice need not be the predicted
/// one: cycle after cycle it ends, and the strategy's violations never become more. The parameters reproduce a failure.
/// Balance strategies rest on the prediction (ADR 9), so that they are not among these.

#include <gtest/gtest.h>

#include "simulator/scheduler.hpp"
#include "test/unit/planning/strategy_worlds.hpp"

namespace strategy_simulation_test {

using strategy_worlds::applied;
using strategy_worlds::ClusterSnapshot;
using strategy_worlds::kNoon;
using strategy_worlds::RandomWorld;
using strategy_worlds::Tried;

/// Evicts the pods in the order of the plan; after each the scheduler binds its replacement.
std::map<std::string, std::string> landings(const ClusterSnapshot& cluster, const planning::Plan& plan,
                                            scheduling::NodeScoring scoring) {
  scheduling::Overlay overlay(cluster);
  std::map<std::string, std::string> nodes;
  for (const api::PlannedMove& move : plan.moves) {
    const scheduling::PodIndex pod = cluster.find_pod(move.ns, move.pod).value();
    overlay.move(pod, scheduling::kNoNode);
    if (move.to.empty()) continue;  // nobody makes a replacement
    const auto node = simulator::choose_node({overlay, pod, scheduling::FitLevel::kScheduler}, scoring);
    if (!node) continue;
    overlay.move(pod, *node);
    nodes[move.uid] = cluster.node(*node).meta.name;
  }
  return nodes;
}

class StrategySimulation : public testing::TestWithParam<std::tuple<std::size_t, unsigned>> {};

TEST_P(StrategySimulation, BecomesQuietAndNeverMakesItWorse) {
  constexpr int kMostCycles = 200;
  const Tried& tried = strategy_worlds::all_tried()[std::get<0>(GetParam())];
  RandomWorld world(std::get<1>(GetParam()));
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{tried.strategy, tried.args}};
  spec.limits.per_cycle = world.limits();
  const auto scoring = tried.strategy == "HighNodeUtilization" ? scheduling::NodeScoring::kMostAllocated
                                                               : scheduling::NodeScoring::kLeastAllocated;
  scheduling::SnapshotInput objects = world.objects();
  std::int64_t before = tried.violations(ClusterSnapshot(objects));
  for (int cycle = 0; cycle < kMostCycles; ++cycle) {
    const ClusterSnapshot cluster(objects);
    const auto plan = planning::plan_cycle({.spec = spec, .cluster = cluster, .leaving = {}, .now = kNoon});
    if (plan.moves.empty()) return;
    const auto nodes = landings(cluster, plan, scoring);
    const auto landing_of = [&](const api::PlannedMove& move) {
      const auto at = nodes.find(move.uid);
      return at == nodes.end() ? std::string() : at->second;
    };
    objects = applied(std::move(objects), plan, landing_of);
    const std::int64_t after = tried.violations(ClusterSnapshot(objects));
    ASSERT_LE(after, before) << tried.strategy << " in cycle " << cycle;
    before = after;
  }
  FAIL() << tried.strategy << " moves in each of " << kMostCycles << " cycles";
}

INSTANTIATE_TEST_SUITE_P(Strategies, StrategySimulation,
                         testing::Combine(testing::Range<std::size_t>(0, strategy_worlds::all_tried().size()),
                                          testing::Range(1U, 31U)));

}  // namespace strategy_simulation_test
