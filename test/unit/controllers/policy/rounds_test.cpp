#include "controllers/policy/balance/rounds.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "api/vocabulary/condition_types.hpp"
#include "test/builders/cluster.hpp"

namespace controllers {
namespace policy_rounds_test {

using base::seconds;
using builders::kNoon;
using builders::PodBuilder;
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
    [](const auto& info) { return info.param.name; });

api::RoundsStatus running(std::int32_t planned = 3) {
  api::RoundsStatus rounds;
  rounds.strategy = "AlternatingUtilization";
  rounds.round = 2;
  rounds.phase = "Packing";
  rounds.planned = planned;
  return rounds;
}
api::RoundsStatus stopped(std::string reason) {
  api::RoundsStatus rounds = running(0);
  rounds.phase = "Stopped";
  rounds.reason = std::move(reason);
  rounds.moved = 7;
  rounds.nodes_in_use = 5;
  rounds.nodes_freed = 3;
  return rounds;
}

struct GoOnCase {
  std::string name;
  std::optional<api::RoundsStatus> rounds;
  WaveState wave;
  bool settled;
  std::int64_t generation;
  bool want;
};

class RoundsGoOn : public testing::TestWithParam<GoOnCase> {};

TEST_P(RoundsGoOn, WithoutWaitingForTheInterval) {
  const GoOnCase& c = GetParam();
  api::DeschedulerPolicy policy;
  policy.meta.generation = c.generation;
  policy.status.observed_generation = 1;
  policy.status.rounds = c.rounds;
  EXPECT_EQ(rounds_go_on(policy, c.wave, {c.settled, false}), c.want);
}

api::RoundsStatus waiting() {
  api::RoundsStatus rounds = running();
  rounds.waiting = true;
  return rounds;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RoundsGoOn,
    testing::Values(GoOnCase{"AfterAWave", running(), WaveState::kOver, true, 1, true},
                    GoOnCase{"NotBeforeItSettled", running(), WaveState::kOver, false, 1, false},
                    GoOnCase{"NotInAWave", running(), WaveState::kUnderWay, false, 1, false},
                    GoOnCase{"NotAfterACycleThatMadeNothing", running(), WaveState::kNone, true, 1, false},
                    GoOnCase{"AfterACycleThatWaited", waiting(), WaveState::kNone, true, 1, true},
                    GoOnCase{"NotWhenStopped", stopped("NoProgress"), WaveState::kOver, true, 1, false},
                    GoOnCase{"NotForAnotherSpec", running(), WaveState::kOver, true, 2, false},
                    GoOnCase{"NotWithoutRounds", {}, WaveState::kOver, true, 1, false}),
    [](const auto& info) { return info.param.name; });

CycleOutcome outcome_of(api::RoundsStatus rounds, int moves, std::int32_t created) {
  CycleOutcome outcome;
  outcome.rounds = std::move(rounds);
  outcome.moves.resize(static_cast<std::size_t>(moves) + 1);
  for (api::PlannedMove& move : outcome.moves) move.strategy = "AlternatingUtilization";
  outcome.moves.back().strategy = "PodLifeTime";
  outcome.summary.start = kNoon + base::milliseconds(300);
  outcome.summary.created = created;
  return outcome;
}

TEST(Rounds, CountPlannedAndCreatedMoves) {
  CycleOutcome outcome = outcome_of(running(9), 4, 3);
  count_planned(outcome);
  EXPECT_EQ(outcome.rounds->planned, 4) << "the convergence guard took moves out, and others are not its own";
  count_made(outcome);
  EXPECT_EQ(outcome.rounds->moved, 3);
  EXPECT_EQ(outcome.rounds->planned_at, kNoon) << "as the status has it";
}

TEST(Rounds, CountNothingInACycleThatMadeNothing) {
  CycleOutcome outcome = outcome_of(running(), 2, 0);
  count_planned(outcome);
  count_made(outcome);
  EXPECT_EQ(outcome.rounds->moved, 0);
  EXPECT_EQ(outcome.rounds->planned_at, std::nullopt);
}

TEST(Rounds, CountNothingWhileTheyWait) {
  CycleOutcome outcome = outcome_of(waiting(), 0, 1);
  count_planned(outcome);
  EXPECT_EQ(outcome.rounds->planned, 3) << "of the cycle before";
}

struct TellCase {
  std::string name;
  api::RoundsStatus rounds;
  std::int32_t active;
  std::string status;
  std::string reason;
  std::string message;
};

class RoundsTell : public testing::TestWithParam<TellCase> {};

TEST_P(RoundsTell, ReportTheirProgress) {
  const TellCase& c = GetParam();
  api::DeschedulerPolicyStatus status;
  status.rounds = c.rounds;
  status.active = c.active;
  set_rounds_condition(status, {}, 1, kNoon);
  const api::Condition* told = api::find_condition(status.conditions, api::ConditionType::kConverged);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(to_string(told->status), c.status);
  EXPECT_EQ(told->reason, c.reason);
  EXPECT_THAT(told->message, HasSubstr(c.message));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RoundsTell,
    testing::Values(
        TellCase{"Running", running(), 0, "False", "RoundRunning", "round 2 of 5 at most, Packing: 3 pods should move"},
        TellCase{"WaitingForEvacuations", waiting(), 2, "False", "RoundRunning", "waits for 2 unfinished Evacuations"},
        TellCase{"WaitingForPods", waiting(), 0, "False", "RoundRunning", "until pods of moved workloads have a node"},
        TellCase{"Converged", stopped("Converged"), 0, "True", "Converged", "no moves remain; 5 nodes are in use"},
        TellCase{"NoProgress", stopped("NoProgress"), 0, "False", "NoProgress",
                 "stopped in round 2: it moved 7 pods and gained less than minGain; 5 nodes are in use, 3 were freed"},
        TellCase{"MaxRounds", stopped("MaxRounds"), 0, "False", "MaxRounds", "maxRounds is reached"},
        TellCase{"NotSettled", stopped("NotSettled"), 1, "False", "NotSettled", "not settled within 15m"}),
    [](const auto& info) { return info.param.name; });

TEST(Rounds, DoNotSayConvergedWhileOtherStrategiesMove) {
  api::DeschedulerPolicyStatus status;
  status.rounds = stopped("Converged");
  status.active = 1;
  set_rounds_condition(status, {}, 1, kNoon);
  EXPECT_TRUE(status.conditions.empty());
}

}  // namespace policy_rounds_test
}  // namespace controllers
