#include "controllers/policy/cycle.hpp"

#include <gtest/gtest.h>

#include "planner/plan/evacuating_pods.hpp"

#include "test/builders/cluster.hpp"
#include "test/builders/origin.hpp"

/// Which pods a plan takes as gone, and what a cycle reports.
namespace cycle_test {

using Phase = api::EvacuationPhase;

struct KeptCase {
  Phase phase = Phase::kPending;
  bool suspend = false;
  bool dry_run = false;
  std::string policy{};  ///< empty if manual
};

std::shared_ptr<const api::Evacuation> evacuation(const KeptCase& kept) {
  auto made = std::make_shared<api::Evacuation>();
  made->meta.ns = "shop";
  made->meta.name = "evac";
  made->spec.pod_ref = {"web-1", {"uid-1"}};
  made->spec.suspend = kept.suspend;
  made->spec.dry_run = kept.dry_run;
  made->status.phase = kept.phase;
  builders::set_policy(*made, kept.policy);
  return made;
}

planner::EvacuatingPods known_pods(const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
                                   api::PolicyMode mode) {
  planner::EvacuatingPods pods("balance", mode);
  for (const auto& each : evacuations) pods.add(*each);
  return pods;
}

struct Case {
  const char* name;
  KeptCase kept;
  bool leaving;
  api::PolicyMode mode = api::PolicyMode::kAutomatic;
};
class PlannerAttacksRow : public testing::TestWithParam<Case> {};
TEST_P(PlannerAttacksRow, CountAsLeavingOnlyWhenTheyMayGoAnyMoment) {
  const auto known = known_pods({evacuation(GetParam().kept)}, GetParam().mode);
  EXPECT_EQ(known.leaving.size(), GetParam().leaving ? 1U : 0U);
  EXPECT_EQ(known.cooling.size(), GetParam().leaving ? 0U : 1U) << "it is not nominated all the same";
}
INSTANTIATE_TEST_SUITE_P(
    Evacuations, PlannerAttacksRow,
    testing::Values(
        Case{"ManualAndNotBegun", {}, false}, Case{"ManualAndBegun", {Phase::kEvicting}, true},
        Case{"ManualBetweenAttempts", {Phase::kBackoff}, true},
        Case{"SuspendedBetweenAttempts", {Phase::kBackoff, true, false, "balance"}, false},
        Case{"ADryRun", {Phase::kPreparing, false, true, "balance"}, false},
        Case{"OfAPolicy", {Phase::kPending, false, false, "other"}, true},
        Case{"OfAPolicyAndSuspendedByAnEditor", {Phase::kPending, true, false, "balance"}, false},
        Case{"ItsOwnProposal", {Phase::kPending, true, false, "balance"}, true, api::PolicyMode::kManual},
        Case{"TheProposalOfAnother", {Phase::kPending, true, false, "other"}, false, api::PolicyMode::kManual},
        Case{"SuspendedWhileItRuns", {Phase::kInProgress, true, false, "balance"}, true},
        Case{"Finished", {Phase::kSucceeded, false, false, "balance"}, false}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PlannerAttacks, ASuspendedEvacuationDoesNotMakeItsPodCountAsGone) {
  std::vector<std::shared_ptr<const api::Evacuation>> all(100, evacuation({.suspend = true}));
  const auto known = known_pods(all, api::PolicyMode::kManual);
  EXPECT_TRUE(known.leaving.empty());
  EXPECT_EQ(known.cooling.size(), 100U);
}

struct Ended {
  const char* name;
  api::EvacuationPhase phase;
  const char* reason;
  bool counts = true;  ///< whether it starts a cooldown
  std::int32_t attempt = 0;
  std::string policy = "balance";
  std::string strategy = "Defragmentation";
};
class EndedRow : public testing::TestWithParam<Ended> {};
TEST_P(EndedRow, StartsACooldownUnlessItsWaveDidNotReachIt) {
  api::Evacuation made = *evacuation({GetParam().phase, false, false, GetParam().policy});
  made.spec.source.strategy = GetParam().strategy;
  made.status.reason = GetParam().reason;
  made.status.attempt = GetParam().attempt;
  planner::EvacuatingPods pods("balance", api::PolicyMode::kAutomatic);
  pods.add(made);
  EXPECT_TRUE(pods.leaving.empty());
  EXPECT_EQ(pods.cooling.size(), GetParam().counts ? 1U : 0U);
}
INSTANTIATE_TEST_SUITE_P(
    EvacuatingPods, EndedRow,
    testing::Values(Ended{"NoTurn", Phase::kCancelled, "DecisionExpired", false},
                    Ended{"NoTurnForAnotherAttempt", Phase::kCancelled, "DecisionExpired", true, 1},
                    Ended{"CancelledByAPerson", Phase::kCancelled, "UserCancelled"},
                    Ended{"NotAllowed", Phase::kFailed, "NotAllowed"},
                    Ended{"Manual", Phase::kCancelled, "DecisionExpired", true, 0, ""},
                    Ended{"InNoWave", Phase::kCancelled, "DecisionExpired", true, 0, "balance", "PodLifeTime"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CycleOutcome, ReportsTheResultOfEmptyingNodes) {
  builders::ClusterBuilder builder;
  for (const std::string node : {"n1", "n2", "n3"}) {
    builder.add(builders::NodeBuilder(node));
    const auto pod = builders::PodBuilder("on-" + node).on(node).cpu(1000);
    builder.add(node == "n3" ? pod : builders::PodBuilder(pod).bare());
  }
  const auto cluster = builder.build();
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", R"({"minNodesFreed": 2})"});
  const planner::PlanSpec spec(policy);
  planner::PlanInput input{.spec = spec,
                           .cluster = *cluster,
                           .leaving = {},
                           .now = builders::kNoon,
                           .options = controllers::cycle_options()};
  input.options.taint_value = "p";
  const auto outcome = controllers::make_plan(input, "id");
  EXPECT_EQ(outcome.summary.nodes_freed, 0);
  EXPECT_EQ(outcome.summary.nodes_bound, 1);
  EXPECT_FALSE(outcome.summary.placement_hints);
  ASSERT_EQ(outcome.warnings.size(), 1U);
  EXPECT_EQ(
      outcome.warnings[0],
      "Defragmentation: frees 0 nodes, the upper bound is 1; 1 nodes could be freed with 1 moves, minNodesFreed is 2; "
      "n1 is held by default/on-n1: BarePod; n2 is held by default/on-n2: BarePod; n3 is held: NoRoomTogether");
}

TEST(CycleOutcome, SaysNothingOfFreedNodesWhereNoStrategyEmptiesThem) {
  builders::ClusterBuilder builder;
  builder.add(builders::NodeBuilder("n1")).add(builders::PodBuilder("web").on("n1"));
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"RemoveFailedPods", "{}"});
  const planner::PlanSpec spec(policy);
  const auto cluster = builder.build();
  const auto outcome = controllers::make_plan({.spec = spec,
                                               .cluster = *cluster,
                                               .leaving = {},
                                               .now = builders::kNoon,
                                               .options = controllers::cycle_options()},
                                              "id");
  EXPECT_EQ(outcome.summary.nodes_freed, std::nullopt);
  EXPECT_EQ(outcome.summary.nodes_bound, std::nullopt);
}

}  // namespace cycle_test
