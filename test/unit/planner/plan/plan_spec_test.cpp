#include "planner/plan/plan_spec.hpp"

#include <gmock/gmock.h>

#include <type_traits>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace plan_spec_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::NodeScoring;

// A planning cycle takes parsed arguments only. A spec with JSON must not convert implicitly.
static_assert(std::is_same_v<decltype(PlanInput::spec), const PlanSpec&>);
static_assert(!std::is_convertible_v<api::DeschedulerPolicySpec, PlanSpec>);

struct ScoringCase {
  std::string name;
  std::vector<api::StrategyChoice> strategies;
  std::optional<api::ScoringStrategyType> scoring;
  NodeScoring want;
};

class Scoring : public testing::TestWithParam<ScoringCase> {};

TEST_P(Scoring, FollowsThePolicy) {
  api::DeschedulerPolicySpec spec;
  spec.strategies = GetParam().strategies;
  spec.scheduler.scoring = GetParam().scoring;
  EXPECT_EQ(PlanSpec(spec).scoring, GetParam().want);
}

const std::vector<api::StrategyChoice> kPacking = {{"HighNodeUtilization", R"({"thresholds":{"cpu":20}})"}};

INSTANTIATE_TEST_SUITE_P(
    Schedulers, Scoring,
    testing::Values(
        ScoringCase{"SpreadsByDefault", {}, {}, NodeScoring::kLeastAllocated},
        ScoringCase{"PacksForHighNodeUtilization", kPacking, {}, NodeScoring::kMostAllocated},
        ScoringCase{
            "PacksForOneWithBadArguments", {{"HighNodeUtilization", R"({"typo":1})"}}, {}, NodeScoring::kMostAllocated},
        ScoringCase{"SpreadsWhenThePolicySaysSo", kPacking, api::ScoringStrategyType::kLeastAllocated,
                    NodeScoring::kLeastAllocated},
        ScoringCase{
            "PacksWhenThePolicySaysSo", {}, api::ScoringStrategyType::kMostAllocated, NodeScoring::kMostAllocated}),
    [](const auto& test) { return test.param.name; });

/// Strategy that counts its runs.
class CountedStrategy final : public strategies::Strategy {
 public:
  explicit CountedStrategy(int& runs) : runs_(runs) {}
  std::string_view name() const override { return "Counted"; }
  strategies::StrategyPhase phase() const override { return strategies::StrategyPhase::kBalance; }
  base::Status nominate(const strategies::StrategyContext&, strategies::NominationSink&) const override {
    ++runs_;
    return base::Done{};
  }

 private:
  int& runs_;
};

TEST(PlanSpec, RunsTheSameParsedStrategiesInEveryCycle) {
  int runs = 0;
  PlanSpec spec{api::DeschedulerPolicySpec{}};
  spec.strategy_specs.runnable.push_back({0, std::make_shared<const CountedStrategy>(runs)});
  const auto cluster = ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("a").on("n1")).build();
  for (int cycle = 0; cycle < 3; ++cycle) {
    const Plan plan = plan_cycle({.spec = spec, .cluster = *cluster, .leaving = {}, .now = kNoon});
    EXPECT_EQ(plan.strategies.at(0).strategy, "Counted");
  }
  EXPECT_EQ(runs, 3);
}

TEST(PlanSpec, ReportsParseErrorsToEveryCycle) {
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"PodLifeTime", R"({"typo":1,"maxPodLifeTimeSeconds":1})"}};
  const PlanSpec parsed(spec);
  const auto cluster = ClusterBuilder().build();
  for (int cycle = 0; cycle < 2; ++cycle) {
    const Plan plan = plan_cycle({.spec = parsed, .cluster = *cluster, .leaving = {}, .now = kNoon});
    EXPECT_EQ(plan.errors, parsed.strategy_specs.errors);
    EXPECT_EQ(plan.errors.at(0).path, "spec.strategies[0].args.typo");
  }
}

}  // namespace plan_spec_test
}  // namespace planner
