/// Properties of every strategy on random clusters. Protections and limits are kept, the order of the input changes
/// nothing, and applying plan after plan ends without ever adding violations. The test parameters are the strategy and
/// the seed, which reproduce a failure.

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <utility>

#include "planner/plan/planner.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "test/unit/planner/plan/strategy_worlds.hpp"

namespace planner {
namespace strategy_property_test {

using namespace strategy_worlds;  // NOLINT(google-build-using-namespace)

class StrategyProperties : public testing::TestWithParam<std::tuple<std::size_t, unsigned>> {
 protected:
  StrategyProperties() : world_(std::get<1>(GetParam())) {
    spec_.strategies = {{tried().strategy, tried().args}};
    spec_.limits.per_cycle = world_.limits();
    spec_.evictability.node_fit = std::get<1>(GetParam()) % 2 == 0;
  }
  const Tried& tried() const { return all_tried()[std::get<0>(GetParam())]; }
  Plan plan_of(const ClusterSnapshot& cluster) const {
    return plan_cycle({.spec = planner::PlanSpec(spec_),
                       .cluster = cluster,
                       .leaving = {},
                       .now = kNoon,
                       .options = {.taint_value = "p"}});
  }

  RandomWorld world_;
  api::DeschedulerPolicySpec spec_;
};

TEST_P(StrategyProperties, KeepsProtectionsAndLimits) {
  for (const auto compatibility : {api::Compatibility::kNone, api::Compatibility::kUpstream}) {
    spec_.compatibility = compatibility;
    const ClusterSnapshot cluster(world_.objects());
    api::FieldErrors errors;
    const scheduling::EvictabilityRules rules(spec_.evictability, cluster, kNoon, errors, compatibility);
    const Plan plan = plan_of(cluster);
    EXPECT_THAT(plan.errors, testing::IsEmpty());
    std::set<std::string> seen;
    std::map<std::string, int> per_node;
    std::map<std::string, int> per_namespace;
    constexpr int kUnlimited = 1'000'000;
    const api::PerCycleLimits& limits = spec_.limits.per_cycle;
    for (const api::PlannedMove& move : plan.moves) {
      EXPECT_FALSE(rules.refusal(cluster.find_pod(move.ns, move.pod).value())) << move.pod;
      EXPECT_TRUE(seen.insert(move.uid).second) << move.pod;
      EXPECT_LE(++per_node[move.from], limits.per_node.value_or(kUnlimited));
      EXPECT_LE(++per_namespace[move.ns], limits.per_namespace.value_or(kUnlimited));
    }
    EXPECT_LE(static_cast<int>(plan.moves.size()), limits.total.value_or(kUnlimited));
  }
}

TEST_P(StrategyProperties, DoesNotDependOnTheOrderOfTheInput) {
  for (const auto compatibility : {api::Compatibility::kNone, api::Compatibility::kUpstream}) {
    spec_.compatibility = compatibility;
    const Plan plan = plan_of(ClusterSnapshot(world_.objects()));
    EXPECT_EQ(plan, plan_of(ClusterSnapshot(world_.objects()))) << "again";
    EXPECT_EQ(plan, plan_of(ClusterSnapshot(world_.shuffled()))) << "shuffled";
  }
}

/// A snapshot that was updated pod by pod has the same order of pods but unused pod numbers.
TEST_P(StrategyProperties, PlansTheSameOnASnapshotThatWasChanged) {
  constexpr std::size_t kLate = 20;
  for (const auto compatibility : {api::Compatibility::kNone, api::Compatibility::kUpstream}) {
    spec_.compatibility = compatibility;
    const scheduling::SnapshotInput objects = world_.objects();
    scheduling::SnapshotInput fewer = objects;
    scheduling::SnapshotInput::List<api::Pod> late;
    int seen = 0;
    for (auto& pod : fewer.pods) {
      const bool is_late = ++seen % 3 == 0 && late.size() < kLate;
      if (pod && is_late) late.push_back(std::exchange(pod, nullptr));
    }
    ClusterSnapshot kept(fewer);
    for (const auto& pod : late) kept.apply({.gone = {}, .now = {pod}});
    EXPECT_EQ(plan_of(kept), plan_of(ClusterSnapshot(objects)));
    EXPECT_TRUE(late.empty() || kept.pod_table_size() > kept.pod_count());
  }
}

TEST_P(StrategyProperties, ConvergesWithoutAddingViolations) {
  constexpr int kMaxCycles = 200;
  scheduling::SnapshotInput objects = world_.objects();
  std::int64_t before = tried().violations(ClusterSnapshot(objects));
  for (int cycle = 0; cycle < kMaxCycles; ++cycle) {
    const Plan plan = plan_of(ClusterSnapshot(objects));
    if (plan.moves.empty()) return;
    objects = applied(std::move(objects), plan, std::mem_fn(&api::PlannedMove::to));
    const std::int64_t after = tried().violations(ClusterSnapshot(objects));
    ASSERT_LE(after, before) << "in cycle " << cycle;
    before = after;
  }
  FAIL() << "moves in each of " << kMaxCycles << " cycles";
}

/// StrategyProperties proves little about a strategy that never moves a pod on these clusters.
TEST(StrategyCoverage, EveryStrategyMovesSomethingSomewhere) {
  for (const Tried& tried : all_tried()) {
    std::size_t moves = 0;
    for (unsigned seed = 1; seed <= 30; ++seed) {
      const RandomWorld world(seed);
      const ClusterSnapshot cluster(world.objects());
      api::DeschedulerPolicySpec spec;
      spec.strategies = {{tried.strategy, tried.args}};
      moves += plan_cycle({.spec = planner::PlanSpec(spec),
                           .cluster = cluster,
                           .leaving = {},
                           .now = kNoon,
                           .options = {.taint_value = "p"}})
                   .moves.size();
    }
    EXPECT_GE(moves, 5U) << tried.strategy << " " << tried.args;
  }
}

/// The clock advances with every call, and the time limit of the cycle is zero.
TEST(StrategyCoverage, EveryStrategyAsksWhetherThereIsTime) {
  for (const Tried& tried : all_tried()) {
    std::set<std::string> reasons;
    for (unsigned seed = 1; seed <= 30; ++seed) {
      const RandomWorld world(seed);
      const ClusterSnapshot cluster(world.objects());
      api::DeschedulerPolicySpec spec;
      spec.strategies = {{tried.strategy, tried.args}};
      PlanOptions options{.taint_value = "p"};
      options.elapsed = [time = base::Duration{}]() mutable { return time += base::seconds(1); };
      options.time_limit = base::Duration{};
      const PlanSpec read(spec);
      const Plan plan =
          plan_cycle({.spec = read, .cluster = cluster, .leaving = {}, .now = kNoon, .options = std::move(options)});
      EXPECT_LE(plan.moves.size(), 1U) << tried.strategy << " " << tried.args;
      for (const api::ReasonCount& each : plan.refused) reasons.insert(each.reason);
    }
    EXPECT_TRUE(reasons.contains("CycleTimeout")) << tried.strategy << " " << tried.args;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, StrategyProperties,
                         testing::Combine(testing::Range<std::size_t>(0, all_tried().size()), testing::Range(1U, 31U)));

}  // namespace strategy_property_test
}  // namespace planner
