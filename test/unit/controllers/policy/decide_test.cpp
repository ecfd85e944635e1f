#include "controllers/policy/decide.hpp"
#include "controllers/policy/waves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/meta/well_known.hpp"

namespace controllers {
namespace policy_decide_test {

using base::minutes;
using base::seconds;
using testing::HasSubstr;

const base::TimePoint kNoon{std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + std::chrono::hours(12)};

api::DeschedulerPolicy policy(std::int64_t generation = 1) {
  api::DeschedulerPolicy made;
  made.meta.name = "balance";
  made.meta.uid = "p-1";
  made.meta.generation = generation;
  return made;
}

api::DeschedulerPolicy planned(base::TimePoint start) {
  api::DeschedulerPolicy made = policy();
  made.status.observed_generation = 1;
  made.status.last_cycle = api::LastCycle{.id = "c", .start = start};
  return made;
}

TEST(AuditHealth, IsReportedDuringAFailureAndAfterIt) {
  api::DeschedulerPolicyStatus status;
  set_audit_condition(status, "", 1, kNoon);
  EXPECT_TRUE(status.conditions.empty()) << "nothing to tell";
  set_audit_condition(status, "No space left on device", 1, kNoon);
  ASSERT_TRUE(api::is_true(status.conditions, "AuditLogFailing"));
  EXPECT_EQ(status.conditions[0].message, "No space left on device");
  set_audit_condition(status, "", 1, kNoon + seconds(60));
  EXPECT_FALSE(api::is_true(status.conditions, "AuditLogFailing"));
  EXPECT_EQ(status.conditions[0].reason, "Written");
}

TEST(CycleTiming, IsDueAtOnceForANewPolicy) { EXPECT_TRUE(cycle_timing(policy(), kNoon).due); }

TEST(CycleTiming, WaitsForTheIntervalAfterTheLastStart) {
  const auto before = cycle_timing(planned(kNoon), kNoon + seconds(299));
  EXPECT_FALSE(before.due);
  EXPECT_EQ(before.next, kNoon + minutes(5));
  EXPECT_TRUE(cycle_timing(planned(kNoon), kNoon + minutes(5)).due);
}

TEST(CycleTiming, IsDueAtOnceAfterAChangeOfTheSpec) {
  auto changed = planned(kNoon);
  changed.meta.generation = 2;
  EXPECT_TRUE(cycle_timing(changed, kNoon + seconds(1)).due);
}

/// A clock that was a day ahead must not stop the cycles for a day.
TEST(CycleTiming, IsDueAtOnceWhenTheLastStartIsFromTheFuture) {
  EXPECT_TRUE(cycle_timing(planned(kNoon + minutes(24 * 60)), kNoon).due);
  EXPECT_FALSE(cycle_timing(planned(kNoon + seconds(30)), kNoon).due) << "another replica's clock";
}

TEST(CycleTiming, ByCronComesAtTheNextTimeWhenTheLastStartIsFromTheFuture) {
  auto made = planned(kNoon + minutes(24 * 60));
  made.spec.schedule.cron = "30 * * * *";
  EXPECT_EQ(cycle_timing(made, kNoon).next, kNoon + minutes(30));
  made.status = next_status(made, {}, nullptr, kNoon);
  EXPECT_TRUE(cycle_timing(made, kNoon + minutes(31)).due);
}

TEST(CycleTiming, HasNoCycleWhileSuspended) {
  auto halted = policy();
  halted.spec.suspend = true;
  const auto timing = cycle_timing(halted, kNoon);
  EXPECT_FALSE(timing.due);
  EXPECT_EQ(timing.next, std::nullopt);
}

/// Returns a schedule with a daily window from 22:00 to 23:00.
api::PolicySchedule nightly(const char* cron = "") {
  api::PolicySchedule schedule;
  schedule.cron = cron;
  schedule.windows = {{api::Weekdays(0x7f), std::chrono::hours(22), std::chrono::hours(23)}};
  return schedule;
}

TEST(CycleTiming, WaitsForTheWindow) {
  auto made = policy();
  made.spec.schedule = nightly();
  const auto before = cycle_timing(made, kNoon);
  EXPECT_FALSE(before.due);
  EXPECT_EQ(before.opening, Opening::kOutsideWindow);
  EXPECT_EQ(before.next, kNoon + minutes(600));
  EXPECT_EQ(before.opens, kNoon + minutes(600));
  EXPECT_EQ(before.changes, kNoon + minutes(600));
  EXPECT_TRUE(cycle_timing(made, kNoon + minutes(600)).due);
  made.status = planned(kNoon + minutes(658)).status;
  EXPECT_EQ(cycle_timing(made, kNoon + minutes(659)).next, kNoon + minutes(600 + 24 * 60)) << "it closes before";
  EXPECT_FALSE(cycle_timing(made, kNoon + minutes(663)).due);
}

TEST(CycleTiming, ByCronWaitsForItsTimeEvenAtFirst) {
  auto made = policy();
  made.spec.schedule.cron = "30 * * * *";
  EXPECT_FALSE(cycle_timing(made, kNoon).due);
  made.status = next_status(made, {}, nullptr, kNoon);
  EXPECT_EQ(made.status.next_cycle_time, kNoon + minutes(30));
  EXPECT_EQ(made.status.observed_generation, 1);
  EXPECT_FALSE(cycle_timing(made, kNoon + minutes(29)).due);
  EXPECT_TRUE(cycle_timing(made, kNoon + minutes(30)).due);
  made.status.last_cycle = api::LastCycle{.id = "c", .start = kNoon + minutes(30)};
  made.status.next_cycle_time.reset();
  EXPECT_EQ(cycle_timing(made, kNoon + minutes(31)).next, kNoon + minutes(90));
  made.meta.generation = 2;
  EXPECT_FALSE(cycle_timing(made, kNoon + minutes(31)).due) << "a change of the spec is no time of cron";
}

TEST(CycleTiming, ByCronRunsOnceForMissedTimes) {
  auto made = policy();
  made.spec.schedule.cron = "30 * * * *";
  made.status = next_status(made, {}, nullptr, kNoon);
  EXPECT_TRUE(cycle_timing(made, kNoon + minutes(300)).due);
  made.spec.schedule = nightly("30 * * * *");
  EXPECT_FALSE(cycle_timing(made, kNoon + minutes(300)).due) << "not outside of the windows";
  EXPECT_EQ(cycle_timing(made, kNoon + minutes(300)).next, kNoon + minutes(630));
}

std::shared_ptr<const api::Evacuation> finished(base::TimePoint when,
                                                api::EvacuationPhase phase = api::EvacuationPhase::kSucceeded) {
  auto made = std::make_shared<api::Evacuation>();
  made->status.phase = phase;
  made->status.finished_at = when;
  return made;
}

TEST(Tally, CountsEachMovedPodOnceHoweverOftenItIsSeenAndAfterItsDeletion) {
  const std::vector both = {finished(kNoon), finished(kNoon + seconds(20))};
  const auto first = tally(both, {}, kNoon + seconds(40));
  EXPECT_EQ(first.tally.evicted, 2);
  EXPECT_EQ(first.carried.counted, 1);
  const auto second = tally(both, first.carried, kNoon + minutes(5));
  EXPECT_EQ(second.tally.evicted, 2);
  const auto after_ttl = tally({}, second.carried, kNoon + minutes(90));
  EXPECT_EQ(after_ttl.tally.evicted, 2);
}

TEST(Tally, CountsOnlySuccessAsEvictedAndOnlyUnfinishedAsActive) {
  const std::vector all = {finished(kNoon, api::EvacuationPhase::kFailed),
                           finished(kNoon, api::EvacuationPhase::kCancelled),
                           finished(kNoon, api::EvacuationPhase::kInProgress)};
  const auto counts = tally(all, {}, kNoon + minutes(5));
  EXPECT_EQ(counts.tally.evicted, 0);
  EXPECT_EQ(counts.tally.active, 1);
}

// --- waves

using Phase = api::EvacuationPhase;
struct WaveCase {
  const char* name;
  std::vector<std::pair<const char*, Phase>> known;  ///< UIDs and phases of the known pods
  WaveState state;
  std::int32_t created = 2;
  std::int64_t generation = 1;
  base::Duration age = seconds(30);
  bool suspended = false;  ///< whether the unfinished ones are suspended
  api::PolicyMode mode = api::PolicyMode::kAutomatic;
  const char* strategy = "Defragmentation";
  std::int32_t waves = 2;
};
class Wave : public testing::TestWithParam<WaveCase> {};
TEST_P(Wave, IsOverWhenAllThatItMadeIsKnownAndFinished) {
  api::DeschedulerPolicy observed = planned(kNoon);
  observed.meta.generation = GetParam().generation;
  observed.spec.mode = GetParam().mode;
  observed.status.last_cycle->created = GetParam().created;
  observed.status.last_cycle->waves = GetParam().waves;
  observed.status.last_cycle->duration = seconds(10);
  for (const auto& [uid, wave] : {std::pair("a", 1), std::pair("b", 1), std::pair("later", 2)})
    observed.status.plan.push_back({"shop", uid, uid, "n1", "n2", "Defragmentation", "", {}, wave});
  std::vector<std::shared_ptr<const api::Evacuation>> known;
  for (const auto& [uid, phase] : GetParam().known) {
    auto made = std::make_shared<api::Evacuation>();
    made->meta.ns = "shop";
    made->meta.creation_timestamp = kNoon;
    made->spec.pod_ref = {uid, {uid}};
    made->spec.source.strategy = GetParam().strategy;
    made->spec.suspend = GetParam().suspended && !api::is_terminal(phase);
    made->status.phase = phase;
    known.push_back(made);
  }
  EXPECT_EQ(wave_progress(observed, known, kNoon + GetParam().age).state, GetParam().state);
}
const std::vector<std::pair<const char*, Phase>> kBoth = {{"a", Phase::kSucceeded}, {"b", Phase::kSucceeded}};
const std::vector<std::pair<const char*, Phase>> kOneLeft = {{"a", Phase::kSucceeded}, {"b", Phase::kPending}};
INSTANTIATE_TEST_SUITE_P(
    Plans, Wave,
    testing::Values(WaveCase{"AllSucceeded", kBoth, WaveState::kOver},
                    WaveCase{"OneFailed", {{"a", Phase::kSucceeded}, {"b", Phase::kFailed}}, WaveState::kOver},
                    WaveCase{"OneUnderWay", {{"a", Phase::kSucceeded}, {"b", Phase::kEvicting}}, WaveState::kUnderWay},
                    WaveCase{"OneNotSeenYet", {{"a", Phase::kSucceeded}}, WaveState::kUnderWay},
                    WaveCase{"OneNeverSeen", {{"a", Phase::kSucceeded}}, WaveState::kOver, 2, 1, minutes(2)},
                    WaveCase{"OfAClockThatWasAMonthAhead",
                             {{"a", Phase::kSucceeded}},
                             WaveState::kOver,
                             2,
                             1,
                             -std::chrono::hours(24 * 30)},
                    WaveCase{"AnotherOneUnderWay", {{"x", Phase::kPending}}, WaveState::kUnderWay, 2, 1, minutes(2)},
                    WaveCase{"ItBroughtNothing", kBoth, WaveState::kNone, 0},
                    WaveCase{"TheSpecChanged", kBoth, WaveState::kNone, 2, 2},
                    WaveCase{"TheOnlyWaveUnderWay", kOneLeft, WaveState::kUnderWay, 2, 1, seconds(30), false,
                             api::PolicyMode::kAutomatic, "Defragmentation", 1},
                    WaveCase{"NoPlanInWaves",
                             {{"a", Phase::kEvicting}},
                             WaveState::kNone,
                             2,
                             1,
                             seconds(30),
                             false,
                             api::PolicyMode::kAutomatic,
                             "PodLifeTime",
                             0},
                    WaveCase{"OneSuspendedIsOver", kOneLeft, WaveState::kOver, 2, 1, seconds(30), true},
                    WaveCase{"OneSuspendedTooLate",
                             {{"a", Phase::kSucceeded}, {"b", Phase::kInProgress}},
                             WaveState::kUnderWay,
                             2,
                             1,
                             seconds(30),
                             true},
                    WaveCase{"AProposalWaitsForItsPerson", kOneLeft, WaveState::kUnderWay, 2, 1, minutes(60), true,
                             api::PolicyMode::kManual},
                    WaveCase{"ButNotWithoutEnd", kOneLeft, WaveState::kOver, 2, 1, minutes(71), true,
                             api::PolicyMode::kManual},
                    WaveCase{"NorDoesAPodThatDoesNotLeave",
                             {{"a", Phase::kSucceeded}, {"b", Phase::kEvicting}},
                             WaveState::kOver,
                             2,
                             1,
                             minutes(71)},
                    WaveCase{"TheSpecChangedMeanwhile", kOneLeft, WaveState::kUnderWay, 2, 2},
                    WaveCase{"TheStatusIsOlder", kOneLeft, WaveState::kUnderWay, 0},
                    WaveCase{"AnotherStrategyUnderWayBesideNothing", kOneLeft, WaveState::kNone, 0, 1, seconds(30),
                             false, api::PolicyMode::kAutomatic, "PodLifeTime"}),
    [](const auto& each) { return each.param.name; });

TEST(Waves, OnlyTheFirstIsMadeNow) {
  api::PlannedMove move;
  EXPECT_TRUE(is_made_now(move)) << "of no wave";
  move.wave = 1;
  EXPECT_TRUE(is_made_now(move));
  move.wave = 2;
  EXPECT_FALSE(is_made_now(move));
}

/// Returns a policy with two planned waves. One Evacuation of the first wave is pending.
api::DeschedulerPolicy in_waves() {
  api::DeschedulerPolicy made = planned(kNoon);
  made.status.last_cycle->created = 2;
  made.status.last_cycle->waves = 2;
  made.status.last_cycle->duration = minutes(3);
  made.status.plan.push_back({"shop", "a", "a", "n1", "n2", "Defragmentation", "", {}, 1});
  return made;
}

TEST(Waves, AreSeenOneMinuteAfterTheEndOfALongCycle) {
  const auto early = wave_progress(in_waves(), {}, kNoon + minutes(3));
  EXPECT_EQ(early.state, WaveState::kUnderWay) << "creating thousands takes its time";
  EXPECT_EQ(early.changes, kNoon + minutes(4)) << "nobody else wakes the policy";
  EXPECT_EQ(wave_progress(in_waves(), {}, kNoon + minutes(4)).state, WaveState::kOver);
}

TEST(Waves, WithAStuckPodAreCheckedAgain) {
  auto stuck = std::make_shared<api::Evacuation>();
  stuck->meta.creation_timestamp = kNoon;
  stuck->spec.timeouts.decision_ttl = minutes(80);
  stuck->status.phase = Phase::kEvicting;
  EXPECT_EQ(wave_progress(in_waves(), {stuck}, kNoon + minutes(5)).changes, kNoon + minutes(140));
}

TEST(Waves, ContinueForAnHourAfterTheLastMove) {
  auto moved = std::make_shared<api::Evacuation>(*finished(kNoon + minutes(20)));
  moved->meta.ns = "shop";
  moved->spec.pod_ref = {"a", {"a"}};
  const auto may_continue = [&](minutes after, const auto& known) {
    return wave_progress(in_waves(), known, kNoon + after).may_continue;
  };
  const std::vector<std::shared_ptr<const api::Evacuation>> known = {moved};
  EXPECT_TRUE(may_continue(minutes(80), known));
  EXPECT_FALSE(may_continue(minutes(81), known)) << "the schedule counts, and minNodesFreed";
  const std::vector<std::shared_ptr<const api::Evacuation>> deleted;
  EXPECT_TRUE(may_continue(minutes(63), deleted));
  EXPECT_FALSE(may_continue(minutes(64), deleted));
}

TEST(Waves, WithoutProgressWaitForTheSchedule) {
  CycleOutcome planned;
  planned.summary.waves = 2;
  planned.taints = {{"n1", std::string(api::well_known::kEmptyingTaint), "p"},
                    {"n1", std::string(api::well_known::kLoadedTaint), "p"}};
  planned.moves.resize(3);
  planned.moves[1].wave = 1;
  planned.moves[2].wave = 2;
  CycleOutcome shrinks = planned;
  end_if_not_shrinking(shrinks, 3);
  EXPECT_EQ(shrinks.moves.size(), 3U);
  EXPECT_EQ(shrinks.summary.waves, 2);
  end_if_not_shrinking(planned, 2);
  EXPECT_EQ(planned.moves.size(), 1U);
  EXPECT_EQ(planned.summary.waves, 0);
  EXPECT_EQ(planned.summary.nominated, 1);
  ASSERT_EQ(planned.taints.size(), 1U);
  EXPECT_EQ(planned.taints[0].key, api::well_known::kLoadedTaint);
  EXPECT_THAT(planned.warnings.at(0), HasSubstr("wait for the schedule"));
}

TEST(EvacuationFor, HasTimeForItsWholeWave) {
  api::PlannedMove move{"shop", "web-1", "0123456789abcdef", "node-1", "", "Defragmentation", "", {}, 1};
  auto from = policy();
  const auto ttl = [&](std::size_t moves) { return evacuation_for(from, move, moves).spec.timeouts.decision_ttl; };
  EXPECT_EQ(ttl(2), seconds(600)) << "the default";
  EXPECT_EQ(ttl(40), minutes(120));
  EXPECT_EQ(ttl(100'000), std::chrono::hours(6));
  from.spec.evacuation.timeouts.decision_ttl = seconds(60);
  EXPECT_EQ(ttl(40), seconds(60)) << "the policy says so";
  from.spec.evacuation.timeouts.decision_ttl.reset();
  from.spec.mode = api::PolicyMode::kManual;
  EXPECT_EQ(ttl(40), std::nullopt) << "a person takes any time";
  from.spec.mode = api::PolicyMode::kAutomatic;
  move.wave = 0;
  EXPECT_EQ(ttl(40), std::nullopt);
}

TEST(EvacuationFor, CarriesTheTemplateAndItsOrigin) {
  auto from = policy();
  from.spec.mode = api::PolicyMode::kAutomatic;
  from.spec.evacuation.priority = 7;
  from.spec.evacuation.evictors = {{"annotation", {}}};
  const api::PlannedMove move{"shop", "web-1", "0123456789abcdef", "node-1", "node-2", "PodLifeTime", "too old"};
  const api::Evacuation made = evacuation_for(from, move);
  EXPECT_EQ(made.meta.key(), (api::ObjectKey{"shop", "web-1-01234567"}));
  EXPECT_EQ(made.meta.labels.value(api::well_known::kPolicyLabel), "balance");
  EXPECT_EQ(made.spec.pod_ref.uid.value, "0123456789abcdef");
  EXPECT_EQ(made.spec.source.strategy, "PodLifeTime");
  EXPECT_EQ(made.spec.priority, 7);
  EXPECT_FALSE(made.spec.suspend);
  ASSERT_NE(made.meta.controller(), nullptr);
  EXPECT_EQ(made.meta.controller()->uid, "p-1");
}

TEST(EvacuationFor, CutsNamesThatAreTooLongForALabel) {
  auto from = policy();
  from.meta.name = std::string(253, 'p');
  const std::string node = std::string(60, 'n') + ".example.com";
  const api::Evacuation made = evacuation_for(from, {"shop", "web-1", "0123456789abcdef", node, "", "PodLifeTime", ""});
  for (const auto& [key, value] : made.meta.labels) EXPECT_EQ(value.size(), 63U) << key;
  EXPECT_EQ(made.spec.source.policy, from.meta.name);
  EXPECT_EQ(made.spec.node_name.value, node);
}

TEST(EvacuationFor, CarriesThePredictedTarget) {
  const auto with = [](const char* target) {
    return evacuation_for(policy(), {"shop", "web-1", "0123456789abcdef", "node-1", target, "PodLifeTime", ""});
  };
  EXPECT_EQ(with("node-2").meta.annotations.value("evacuator.dev/predicted-target"), "node-2");
  EXPECT_TRUE(with("").meta.annotations.empty()) << "unknown";
}

TEST(EvacuationFor, CarriesThePlacementHintOfTheMove) {
  api::PlannedMove move{"shop", "web-1", "0123456789abcdef", "node-1", "node-2", "PodLifeTime", ""};
  EXPECT_EQ(evacuation_for(policy(), move).spec.placement, std::nullopt);
  move.hint = "Preferred";
  const auto hint = evacuation_for(policy(), move).spec.placement;
  ASSERT_TRUE(hint);
  EXPECT_EQ(*hint, (api::PlacementHint{{"node-2"}, api::PlacementPolicy::kPreferred, std::chrono::hours(24)}))
      << "it outlasts all attempts";
  EXPECT_TRUE(api::validate(evacuation_for(policy(), move).spec, {}).empty());
}

TEST(EvacuationFor, WaitsForAPersonInManualMode) {
  auto from = policy();
  from.spec.mode = api::PolicyMode::kManual;
  EXPECT_TRUE(
      evacuation_for(from, {"shop", "web-1", "0123456789abcdef", "node-1", "", "PodLifeTime", ""}).spec.suspend);
}

CycleOutcome outcome(std::int32_t nominated, std::vector<std::string> problems = {}) {
  CycleOutcome made;
  made.summary.start = kNoon;
  made.summary.nominated = nominated;
  made.problems = std::move(problems);
  return made;
}

TEST(NextStatus, IsReadyAndConvergedWhenNothingIsToMove) {
  const auto cycle = outcome(0);
  const auto status = next_status(policy(), {}, &cycle, kNoon);
  EXPECT_TRUE(api::is_true(status.conditions, "Ready"));
  EXPECT_TRUE(api::is_true(status.conditions, "Converged"));
  EXPECT_FALSE(api::is_true(status.conditions, "Degraded"));
  EXPECT_EQ(status.next_cycle_time, kNoon + minutes(5));
  EXPECT_EQ(status.observed_generation, 1);
}

TEST(NextStatus, IsDegradedByACyclesProblems) {
  const auto cycle = outcome(1, {"creating shop/web-1: forbidden"});
  const auto status = next_status(policy(), {}, &cycle, kNoon);
  EXPECT_TRUE(api::is_true(status.conditions, "Degraded"));
  EXPECT_THAT(api::find_condition(status.conditions, "Degraded")->message, HasSubstr("forbidden"));
  EXPECT_FALSE(api::is_true(status.conditions, "Converged"));
}

TEST(NextStatus, ReportsUnusualInputWithoutBeingDegraded) {
  CycleOutcome cycle = outcome(0);
  auto seen = policy();
  EXPECT_EQ(api::find_condition(next_status(seen, {}, &cycle, kNoon).conditions, "Warnings"), nullptr);
  cycle.warnings = {"Pod a/b: spec.overhead.cpu: -1m is negative, treated as 0", "2", "3", "4", "5", "6"};
  cycle.more_warnings = 94;
  seen.status = next_status(seen, {}, &cycle, kNoon);
  ASSERT_TRUE(api::is_true(seen.status.conditions, "Warnings"));
  EXPECT_EQ(api::find_condition(seen.status.conditions, "Warnings")->message,
            "Pod a/b: spec.overhead.cpu: -1m is negative, treated as 0; 2; 3; 4; 5; and 95 more");
  EXPECT_TRUE(api::is_true(seen.status.conditions, "Ready"));
  EXPECT_FALSE(api::is_true(seen.status.conditions, "Degraded"));
  const CycleOutcome quiet = outcome(0);
  EXPECT_EQ(api::find_condition(next_status(seen, {}, &quiet, kNoon).conditions, "Warnings")->reason, "None");
}

TEST(NextStatus, DoesNotChangeWhenNothingHappened) {
  const auto cycle = outcome(0);
  auto seen = policy();
  seen.status = next_status(seen, {}, &cycle, kNoon);
  EXPECT_EQ(next_status(seen, {}, nullptr, kNoon + seconds(10)), seen.status);
}

TEST(NextStatus, ListsTheFirstRefusalsOfTheLastCycle) {
  CycleOutcome cycle = outcome(0);
  cycle.refusals.resize(api::kMaxPublishedRefusals + 1,
                        {"shop", "web-1", "u-1", "n1", "PodLifeTime", "NodeLimit", "7"});
  auto seen = policy();
  seen.status = next_status(seen, {}, &cycle, kNoon);
  EXPECT_EQ(seen.status.refusals.size(), api::kMaxPublishedRefusals);
  EXPECT_EQ(seen.status.refusals[0].reason, "NodeLimit");
  const CycleOutcome quiet = outcome(0);
  EXPECT_TRUE(next_status(seen, {}, &quiet, kNoon).refusals.empty());
}

TEST(NextStatus, SaysThatItIsOutsideOfTheWindowsAndWhenOneBegins) {
  auto seen = policy();
  seen.spec.schedule = nightly();
  seen.status = next_status(seen, {}, nullptr, kNoon);
  const auto* told = api::find_condition(seen.status.conditions, "Suspended");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->status, api::ConditionStatus::kTrue);
  EXPECT_EQ(told->reason, "OutsideWindow");
  EXPECT_THAT(told->message, HasSubstr("no cycle starts before 2026-11-21T22:00:00Z"));
  EXPECT_EQ(seen.status.next_cycle_time, kNoon + minutes(600));
  EXPECT_EQ(next_status(seen, {}, nullptr, kNoon + minutes(7)), seen.status) << "nothing to write";
  const auto open = next_status(seen, {}, nullptr, kNoon + minutes(601));
  EXPECT_EQ(api::find_condition(open.conditions, "Suspended")->reason, "Active");
}

TEST(NextStatus, SaysThatItIsInABlackoutAndWhenItEnds) {
  auto seen = planned(kNoon);
  seen.spec.schedule.blackouts = {{std::nullopt, kNoon, kNoon + minutes(90)}};
  const auto status = next_status(seen, {}, nullptr, kNoon + minutes(10));
  EXPECT_EQ(api::find_condition(status.conditions, "Suspended")->reason, "Blackout");
  EXPECT_THAT(api::find_condition(status.conditions, "Suspended")->message, HasSubstr("before 2026-11-21T13:30:00Z"));
  EXPECT_EQ(status.next_cycle_time, kNoon + minutes(90));
}

TEST(NextStatus, SaysThatAGateHoldsOrHasNoAnswer) {
  const GateVerdict holds{GateVerdict::Kind::kHolds, false, "gate freeze holds: 3"};
  auto seen = planned(kNoon);
  const auto status = next_status(seen, {}, nullptr, kNoon, holds);
  const auto* told = api::find_condition(status.conditions, "Suspended");
  EXPECT_EQ(told->status, api::ConditionStatus::kTrue);
  EXPECT_EQ(told->reason, "GateHolds");
  EXPECT_THAT(told->message, HasSubstr("gate freeze holds: 3"));
  EXPECT_EQ(status.next_cycle_time, kNoon + minutes(5)) << "it goes on planning";
  const GateVerdict unanswered{GateVerdict::Kind::kUnanswered, false, "gate freeze has no response: x"};
  EXPECT_EQ(api::find_condition(next_status(seen, {}, nullptr, kNoon, unanswered).conditions, "Suspended")->reason,
            "GateUnanswered");
}

TEST(NextStatus, SaysThatItIsSuspendedAndHasNoNextCycle) {
  auto halted = planned(kNoon);
  halted.spec.suspend = true;
  const auto status = next_status(halted, {}, nullptr, kNoon);
  EXPECT_TRUE(api::is_true(status.conditions, "Suspended"));
  EXPECT_EQ(status.next_cycle_time, std::nullopt);
}

TEST(InvalidStatus, NamesTheProblemAndDropsThePlan) {
  api::DeschedulerPolicyStatus before;
  before.evicted = 9;
  before.plan.resize(1);
  const auto status = invalid_status(before, 3, "spec.strategies[0].name: unknown strategy", kNoon);
  EXPECT_EQ(status.observed_generation, 3);
  EXPECT_EQ(status.evicted, 9);
  EXPECT_TRUE(status.plan.empty());
  EXPECT_EQ(api::find_condition(status.conditions, "Ready")->status, api::ConditionStatus::kFalse);
}

TEST(DecodeObservedPolicy, KeepsAnInvalidOneWithItsProblem) {
  const auto seen = decode_observed_policy(
      R"({"apiVersion":"evacuator.dev/v1alpha1","kind":"DeschedulerPolicy","metadata":{"name":"x"},"spec":{"limits":{"inFlight":{"total":7}},"mood":"DryRun"}})");
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->meta.name, "x");
  EXPECT_FALSE(seen->plan_spec) << "there is nothing to plan";
  EXPECT_TRUE(seen->spec.limits.in_flight.total) << "what waits keeps its limits";
  EXPECT_THAT(seen->spec_problem, HasSubstr("spec.mood"));
}

TEST(DecodeObservedPolicy, ParsesTheArgumentsOfItsStrategies) {
  const auto seen = decode_observed_policy(
      R"({"apiVersion":"evacuator.dev/v1alpha1","kind":"DeschedulerPolicy","metadata":{"name":"x"},"spec":{"strategies":[
          {"name":"PodLifeTime","args":{"maxPodLifeTimeSeconds":60}},{"name":"PodLifeTime","args":{"maxPodLifeTimeSeconds":60,"typo":1}}]}})");
  ASSERT_TRUE(seen.ok());
  ASSERT_TRUE(seen->plan_spec);
  const strategies::StrategySpecs& parsed = seen->plan_spec->strategy_specs;
  ASSERT_EQ(parsed.runnable.size(), 1U);
  EXPECT_EQ(parsed.runnable[0].position, 0U);
  ASSERT_FALSE(parsed.errors.empty());
  EXPECT_EQ(parsed.errors[0].path, "spec.strategies[1].args.typo");
}

}  // namespace policy_decide_test
}  // namespace controllers
