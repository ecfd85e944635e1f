#include "controllers/policy/balance/rounds.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "api/vocabulary/condition_types.hpp"
#include "planner/strategies/alternating/alternating_utilization.hpp"
#include "test/builders/cluster.hpp"

namespace controllers {
namespace policy_rounds_test {

using base::seconds;
using builders::kNoon;
using builders::PodBuilder;
using strategies::Rounds;
using testing::HasSubstr;

using Evacuations = std::vector<std::shared_ptr<const api::Evacuation>>;
using Pods = std::vector<std::shared_ptr<const api::Pod>>;

/// Returns an Evacuation of a pod of the ReplicaSet "web", created at noon, finished one minute later.
std::shared_ptr<const api::Evacuation> evacuation(const std::function<void(api::Evacuation&)>& edit = {}) {
  auto made = std::make_shared<api::Evacuation>();
  made->meta.creation_timestamp = kNoon;
  made->status.phase = api::EvacuationPhase::kSucceeded;
  made->status.finished_at = kNoon + seconds(60);
  made->status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "uid-of-web", true};
  if (edit) edit(*made);
  return made;
}

PodBuilder replacement() { return PodBuilder("web-2").owned_by("ReplicaSet", "web").older_by(seconds(-30)); }
Pods pods(const PodBuilder& pod) { return {std::make_shared<const api::Pod>(pod.build())}; }

struct SettlementCase {
  std::string name;
  Evacuations evacuations;
  Pods pods;
  base::Duration after;  ///< time since noon
  bool settled;
};

class RoundsSettle : public testing::TestWithParam<SettlementCase> {};

TEST_P(RoundsSettle, WithoutMovesInProgress) {
  const SettlementCase& c = GetParam();
  const Settlement settled = settlement_of(c.evacuations, c.pods, kNoon, kNoon + c.after);
  EXPECT_EQ(settled.is_settled, c.settled);
  EXPECT_EQ(settled.awaits_pods, !c.settled);
}

const base::Duration kLater = base::minutes(5);

INSTANTIATE_TEST_SUITE_P(
    Cases, RoundsSettle,
    testing::Values(
        SettlementCase{"Nothing", {}, {}, kLater, true},
        SettlementCase{"ReplacementOnANode", {evacuation()}, pods(replacement().on("n")), kLater, true},
        SettlementCase{"ReplacementWithoutANode", {evacuation()}, pods(replacement()), kLater, false},
        SettlementCase{
            "SomebodyElsesPod", {evacuation()}, pods(replacement().owned_by("ReplicaSet", "db")), kLater, true},
        SettlementCase{
            "PendingSinceLongBefore", {evacuation()}, pods(replacement().older_by(seconds(60))), kLater, true},
        SettlementCase{"GatedBySomebody",
                       {evacuation()},
                       pods(replacement().with([](api::Pod& x) { x.has_scheduling_gates = true; })),
                       kLater,
                       true},
        SettlementCase{"OnItsWayOut", {evacuation()}, pods(replacement().terminating()), kLater, true},
        SettlementCase{"FinishedAMomentAgo", {evacuation()}, {}, seconds(69), false},
        SettlementCase{"FinishedLongEnoughAgo", {evacuation()}, {}, seconds(70), true},
        SettlementCase{"EvacuationOfAnEarlierCycle",
                       {evacuation([](api::Evacuation& x) { x.meta.creation_timestamp = kNoon - seconds(1); })},
                       pods(replacement()),
                       kLater,
                       true}),
    [](const auto& test) { return test.param.name; });

const strategies::AlternatingUtilization kStrategy({});

Rounds packing(std::int32_t planned = 3) {
  Rounds rounds;
  rounds.round = 2;
  rounds.phase = "Packing";
  rounds.planned = planned;
  return rounds;
}
Rounds stopped(std::string reason) {
  Rounds rounds = packing(0);
  rounds.phase = "Stopped";
  rounds.reason = std::move(reason);
  rounds.moved = 7;
  rounds.nodes_in_use = 5;
  rounds.nodes_freed = 3;
  return rounds;
}

api::StrategyState state_of(const Rounds& rounds) {
  return {std::string(kStrategy.name()), strategies::to_state(rounds, kStrategy.name())};
}
Rounds rounds_of(const CycleOutcome& outcome) {
  return strategies::read_rounds(outcome.strategy_state.value().value).value();
}

struct GoOnCase {
  std::string name;
  std::optional<Rounds> rounds;
  WaveState wave;
  bool settled;
  std::int64_t generation;
  bool want;
};

TEST(Rounds, DoNotGoOnWithUnreadableStateOrWithoutTheStrategy) {
  api::DeschedulerPolicy policy;
  policy.status.strategy_state = {"AlternatingUtilization", R"({"phase":"Dancing"})"};
  EXPECT_FALSE(continues_now(&kStrategy, policy, WaveState::kOver, {true, false}));
  policy.status.strategy_state = state_of(packing());
  EXPECT_TRUE(continues_now(&kStrategy, policy, WaveState::kOver, {true, false}));
  EXPECT_FALSE(continues_now(nullptr, policy, WaveState::kOver, {true, false}));
}

class RoundsGoOn : public testing::TestWithParam<GoOnCase> {};

TEST_P(RoundsGoOn, WithoutWaitingForTheInterval) {
  const GoOnCase& c = GetParam();
  api::DeschedulerPolicy policy;
  policy.meta.generation = c.generation;
  policy.status.observed_generation = 1;
  if (c.rounds) policy.status.strategy_state = state_of(*c.rounds);
  EXPECT_EQ(continues_now(&kStrategy, policy, c.wave, {c.settled, false}), c.want);
}

Rounds waiting() {
  Rounds rounds = packing();
  rounds.waiting = true;
  return rounds;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RoundsGoOn,
    testing::Values(GoOnCase{"AfterAWave", packing(), WaveState::kOver, true, 1, true},
                    GoOnCase{"NotBeforeItSettled", packing(), WaveState::kOver, false, 1, false},
                    GoOnCase{"NotInAWave", packing(), WaveState::kUnderWay, false, 1, false},
                    GoOnCase{"NotAfterACycleThatMadeNothing", packing(), WaveState::kNone, true, 1, false},
                    GoOnCase{"AfterACycleThatWaited", waiting(), WaveState::kNone, true, 1, true},
                    GoOnCase{"NotWhenStopped", stopped("NoProgress"), WaveState::kOver, true, 1, false},
                    GoOnCase{"NotForAnotherSpec", packing(), WaveState::kOver, true, 2, false},
                    GoOnCase{"NotWithoutRounds", {}, WaveState::kOver, true, 1, false}),
    [](const auto& test) { return test.param.name; });

CycleOutcome outcome_of(const Rounds& rounds, int moves, std::int32_t created) {
  CycleOutcome outcome;
  outcome.strategy_state = state_of(rounds);
  outcome.moves.resize(static_cast<std::size_t>(moves) + 1);
  for (api::PlannedMove& move : outcome.moves) move.strategy = "AlternatingUtilization";
  outcome.moves.back().strategy = "PodLifeTime";
  outcome.summary.start = kNoon + base::milliseconds(300);
  outcome.summary.created = created;
  return outcome;
}

TEST(Rounds, CountPlannedAndCreatedMoves) {
  CycleOutcome outcome = outcome_of(packing(9), 4, 3);
  count_planned(&kStrategy, outcome);
  EXPECT_EQ(rounds_of(outcome).planned, 4) << "the convergence guard took moves out, and others are not its own";
  count_made(&kStrategy, outcome);
  EXPECT_EQ(rounds_of(outcome).moved, 3);
  EXPECT_EQ(rounds_of(outcome).planned_at, kNoon) << "as the status has it";
}

TEST(Rounds, CountNothingInACycleThatMadeNothing) {
  CycleOutcome outcome = outcome_of(packing(), 2, 0);
  count_planned(&kStrategy, outcome);
  count_made(&kStrategy, outcome);
  EXPECT_EQ(rounds_of(outcome).moved, 0);
  EXPECT_EQ(rounds_of(outcome).planned_at, std::nullopt);
}

TEST(Rounds, CountNothingWhileTheyWait) {
  CycleOutcome outcome = outcome_of(waiting(), 0, 1);
  count_planned(&kStrategy, outcome);
  EXPECT_EQ(rounds_of(outcome).planned, 3) << "of the cycle before";
}

struct TellCase {
  std::string name;
  Rounds rounds;
  std::int32_t active;
  std::string status;
  std::string reason;
  std::string message;
};

class RoundsTell : public testing::TestWithParam<TellCase> {};

TEST_P(RoundsTell, ReportTheirProgress) {
  const TellCase& c = GetParam();
  api::DeschedulerPolicyStatus status;
  status.strategy_state = state_of(c.rounds);
  status.active = c.active;
  set_progress_condition(kStrategy, status, 1, kNoon);
  const api::Condition* told = api::find_condition(status.conditions, api::ConditionType::kConverged);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(to_string(told->status), c.status);
  EXPECT_EQ(told->reason, c.reason);
  EXPECT_THAT(told->message, HasSubstr(c.message));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RoundsTell,
    testing::Values(
        TellCase{"Running", packing(), 0, "False", "RoundRunning", "round 2 of 5 at most, Packing: 3 pods should move"},
        TellCase{"WaitingForEvacuations", waiting(), 2, "False", "RoundRunning", "waits for 2 unfinished Evacuations"},
        TellCase{"WaitingForPods", waiting(), 0, "False", "RoundRunning", "until pods of moved workloads have a node"},
        TellCase{"Converged", stopped("Converged"), 0, "True", "Converged", "no moves remain; 5 nodes are in use"},
        TellCase{"NoProgress", stopped("NoProgress"), 0, "False", "NoProgress",
                 "stopped in round 2: it moved 7 pods and gained less than minGain; 5 nodes are in use, 3 were freed"},
        TellCase{"MaxRounds", stopped("MaxRounds"), 0, "False", "MaxRounds", "maxRounds is reached"},
        TellCase{"NotSettled", stopped("NotSettled"), 1, "False", "NotSettled", "not settled within 15m"}),
    [](const auto& test) { return test.param.name; });

TEST(Rounds, DoNotSayConvergedWhileOtherStrategiesMove) {
  api::DeschedulerPolicyStatus status;
  status.strategy_state = state_of(stopped("Converged"));
  status.active = 1;
  set_progress_condition(kStrategy, status, 1, kNoon);
  EXPECT_TRUE(status.conditions.empty());
}

}  // namespace policy_rounds_test
}  // namespace controllers
