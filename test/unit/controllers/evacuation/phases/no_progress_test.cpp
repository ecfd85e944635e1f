#include <gtest/gtest.h>

#include "controllers/evacuation/phases/status_builder.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// A slot without progress passes to Evacuations that wait for it (T36), run through decide().
namespace no_progress_test {

using namespace evacuation_test;
using base::minutes;
using base::seconds;
using Phase = EvacuationPhase;

const std::string kToken = "e5b3.1";

/// Returns an Evacuation with maximum timeouts, as an attacker would create it.
api::Evacuation patient(std::int32_t attempts = 3) {
  api::Evacuation evacuation = make_evacuation();
  auto& timeouts = evacuation.spec.timeouts;
  timeouts.blocked = timeouts.acknowledge = timeouts.heartbeat = timeouts.total = timeouts.prepare = seconds(604800);
  evacuation.spec.retry.max_attempts = attempts;
  return evacuation;
}

void set_waited_for(Life& life, bool is_waited_for) {
  life.seen.slot_is_waited_for = life.seen.departure_is_waited_for = is_waited_for;
}

/// Returns a Life that a budget has blocked since noon, retried until noon + `until`.
Life blocked(base::Duration until, bool waited_for, std::int32_t attempts = 3) {
  Life life(patient(attempts));
  set_waited_for(life, waited_for);
  life.tick();
  while (life.now < kNoon + until) {
    if (life.last.action) life.answer(429, pdb_body());
    if (life.last.action) continue;
    if (life.phase() != Phase::kRequesting || !life.last.requeue.after) break;
    life.advance(*life.last.requeue.after);
    life.tick();
  }
  return life;
}

Life asked(const char* mode = "required") {
  Life life(patient(), make_pod({handoff("mode", mode)}));
  set_waited_for(life, true);
  life.tick();
  EXPECT_EQ(life.action(), "RequestMigrate");
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  return life;
}

TEST(WithoutProgress, ABlockedEvacuationReleasesItsSlotAndQueuesAgain) {
  Life life = blocked(minutes(11), true);
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  EXPECT_EQ(life.status().reason, "NoProgress");
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "NoProgress");
  EXPECT_EQ(life.condition("SlotAcquired")->status, api::ConditionStatus::kFalse);
  EXPECT_EQ(life.condition("SlotAcquired")->message,
            "no progress for 10m0s while other Evacuations wait for the slot: blocked: The disruption budget web needs "
            "3 healthy pods and has 3 currently");
  EXPECT_EQ(life.events.back(), "SlotReturned");
  EXPECT_FALSE(life.status().intent && !life.status().intent->resolved);
  life.advance(minutes(2));
  life.tick();
  EXPECT_EQ(life.status().attempt, 2) << "it was its turn again";
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(WithoutProgress, ABlockedEvacuationKeepsItsSlotWhileNoneWaits) {
  Life life = blocked(minutes(30), false);
  EXPECT_EQ(life.phase(), Phase::kRequesting);
  EXPECT_EQ(life.status().attempt, 1);
}

TEST(WithoutProgress, TheLastAttemptEnds) {
  Life life = blocked(minutes(11), true, 1);
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "NoProgress");
}

TEST(WithoutProgress, TheNextAttemptWaitsBrieflyEvenWithoutBackoff) {
  api::Evacuation hasty = patient();
  hasty.spec.retry = {3, seconds(0), seconds(0)};
  Life life(hasty);
  set_waited_for(life, true);
  life.tick();
  life.answer(429, pdb_body());
  life.advance(minutes(11));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kBackoff) << "those who waited come first";
  EXPECT_EQ(life.last.requeue, kube::Requeue::in(seconds(1)));
}

TEST(WithoutProgress, AnUnacknowledgedHandoffIsAbortedFirst) {
  Life life = asked();
  life.advance(minutes(10));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  EXPECT_EQ(life.status().abort->next, Phase::kBackoff);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Acquired") << "the slot is held until nothing is asked any more";
  EXPECT_EQ(life.action(), "Abort");
  life.accept_patch();
  life.operator_says("aborted", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "CleanUp");
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "NoProgress");
  EXPECT_FALSE(life.seen.pod->meta.annotations.contains("handoff.evacuator.dev/request"));
}

TEST(WithoutProgress, AnUnconfirmedRollbackDoesNotKeepTheSlotForAWeek) {
  Life life = asked();
  life.spec().timeouts.abort = seconds(604800);
  life.cancel();
  life.tick();
  EXPECT_EQ(life.action(), "Abort");
  life.accept_patch();
  life.advance(minutes(9));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  life.advance(minutes(1));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.condition_reason("RollbackComplete"), "AbortTimeout");
  EXPECT_EQ(life.action(), "CleanUp") << "nothing that was asked stays on the pod";
}

TEST(WithoutProgress, AHandoffWithoutHeartbeatIsAborted) {
  Life life = asked();
  life.operator_says("ack", kToken + "@1");
  life.tick();
  life.advance(minutes(9));
  life.operator_says("heartbeat", kToken + "@2");
  life.tick();
  life.advance(minutes(9));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kInProgress) << "it has beaten meanwhile";
  life.advance(minutes(1));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  EXPECT_EQ(life.status().abort->reason, "NoProgress");
}

TEST(WithoutProgress, AReadyHandoffCountsAsProgress) {
  Life life = asked();
  life.operator_says("ack", kToken + "@1");
  life.tick();
  life.operator_says("ready-to-evict", kToken);
  life.advance(minutes(20));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(WithoutProgress, ZeroMeansNever) {
  Life life = asked();
  life.seen.rules.slot_without_progress = {};
  life.advance(std::chrono::hours(24));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
}

// --- attempts that cannot be interrupted continue without a slot (T38)

const api::Condition kSignedByUs{"OriginVerified", api::ConditionStatus::kTrue, "Signed", "", 0, {}};

Life terminating(std::int64_t grace) {
  Life life(patient());
  set_waited_for(life, true);
  life.tick();
  life.answer(201);
  api::Pod pod = *life.seen.pod;
  pod.meta.deletion_timestamp = life.now + seconds(grace);
  pod.meta.deletion_grace_period_seconds = grace;
  life.set_pod(std::move(pod));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  return life;
}

struct Grace {
  const char* name;
  std::int64_t seconds;
  base::Duration counts;  ///< part of the grace period that counts as progress
};
class GracePeriod : public testing::TestWithParam<Grace> {};

TEST_P(GracePeriod, CountsAsProgressUpToAnHour) {
  Life life = terminating(GetParam().seconds);
  life.advance(GetParam().counts - seconds(1));
  life.tick();
  EXPECT_NE(life.condition_reason("SlotAcquired"), "NoProgress");
  life.advance(seconds(1));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "NoProgress");
  EXPECT_EQ(life.events.back(), "SlotReturned");
  const auto told = life.events.size();
  life.advance(minutes(1));
  life.tick();
  EXPECT_EQ(life.events.size(), told) << "once";
}

INSTANTIATE_TEST_SUITE_P(WithoutProgress, GracePeriod,
                         testing::Values(Grace{"OfAWeek", 604'800, minutes(60)},
                                         Grace{"OfTwoHours", 7'200, minutes(60)},
                                         Grace{"OfHalfAnHour", 1'800, minutes(30)},
                                         Grace{"OfTenMinutes", 600, minutes(10)}),
                         [](const auto& test) { return test.param.name; });

TEST(WithoutProgress, ATerminatingPodKeepsItsSlotWhileNoneWaits) {
  Life life = terminating(604'800);
  set_waited_for(life, false);
  life.advance(std::chrono::hours(5));
  life.tick();
  EXPECT_NE(life.condition_reason("SlotAcquired"), "NoProgress");
  EXPECT_EQ(life.last.requeue, kube::Requeue::in(seconds(60))) << "it looks again";
}

/// A user runs `kubectl delete --grace-period=3600` on a pod that a budget protects from eviction.
TEST(Terminating, AnotherGracePeriodThanOursDoesNotMakeAPodStuck) {
  Life life = blocked(minutes(1), false);
  ASSERT_EQ(life.phase(), Phase::kRequesting);
  api::Pod pod = *life.seen.pod;
  pod.meta.deletion_timestamp = life.now + seconds(3600);
  pod.meta.deletion_grace_period_seconds = 3600;
  life.set_pod(std::move(pod));
  life.tick();
  ASSERT_EQ(life.phase(), Phase::kEvicting);
  life.advance(seconds(3719));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  life.advance(seconds(1));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "TerminationTimeout");
}

Life beating() {
  Life life = asked();
  life.operator_says("ack", kToken + "@1");
  life.tick();
  return life;
}

/// Writes a heartbeat every five minutes for `time`.
void beat(Life& life, base::Duration time) {
  static int beats = 1;
  for (const base::TimePoint end = life.now + time; life.now < end; life.advance(minutes(5))) {
    life.operator_says("heartbeat", kToken + "@" + std::to_string(++beats));
    life.tick();
  }
}

TEST(WithoutProgress, AHandoffThatBeatsForAWeekHoldsASlotForAnHour) {
  Life life = beating();
  beat(life, minutes(55));
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Acquired");
  beat(life, minutes(10));
  EXPECT_EQ(life.phase(), Phase::kInProgress) << "its owner is at work";
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "NoProgress");
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

/// An Evacuation without a slot still holds the slot of its workload.
TEST(WithoutProgress, AHandoffKeepsASlotThatOnlyItsWorkloadWaitsFor) {
  Life life = beating();
  life.seen.departure_is_waited_for = false;
  beat(life, minutes(120));
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Acquired");
}

/// The handoff has held its slot for more than an hour while no other Evacuation waited.
TEST(WithoutProgress, AReadyHandoffKeepsItsSlotThoughOthersBeginToWait) {
  Life life = beating();
  set_waited_for(life, false);
  beat(life, minutes(65));
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Acquired");
  set_waited_for(life, true);
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Acquired");
  EXPECT_FALSE(life.asked_for_slot);
}

/// The admission queue counts the stored state.
TEST(WithoutSlot, ASlotIsRequestedOnlyIfTheStoredStatusHasNone) {
  namespace phases = controllers::evacuation;
  Life life = asked();
  evictors::Action eviction;
  eviction.role = evictors::ActionRole::kRequest;
  for (const bool is_stored : {false, true}) {
    phases::StatusBuilder builder(life.seen, life.registry(), life.now);
    builder.set_condition(api::ConditionType::kSlotAcquired, api::ConditionStatus::kFalse, api::Reason::kNoProgress);
    EXPECT_EQ(phases::regain_slot(builder, eviction), builder.wait());
    const Decision decision = std::move(builder).finish_decision();
    EXPECT_EQ(decision.wants_slot, is_stored);
    life.status() = decision.status;
  }
}

/// Returns a Life that lost its slot after an hour and waits for one while others wait, too.
Life without_slot() {
  Life life = beating();
  beat(life, minutes(65));
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "NoProgress");
  life.slot = Slot::State::kWaiting;
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  return life;
}

TEST(WithoutSlot, AReadyPodWaitsForASlotBeforeItsEviction) {
  Life life = without_slot();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_EQ(life.action(), "");
  ASSERT_EQ(life.status().blocked_by.size(), 1U);
  EXPECT_EQ(life.status().blocked_by[0].name, "node");
  EXPECT_EQ(life.condition("Progressing")->message, "waits for a slot: at most 2");
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "NoProgress") << "a new leader must know that it has none";
  EXPECT_FALSE(life.asked_for_capacity);
  life.slot = Slot::State::kGranted;
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Acquired");
  EXPECT_TRUE(life.status().blocked_by.empty());
}

/// The call was refused before the Evacuation lost its slot.
TEST(WithoutSlot, TheWaitForASlotIsNotBlockedTime) {
  Life life = blocked(minutes(1), false);
  ASSERT_EQ(life.phase(), Phase::kRequesting);
  life.spec().timeouts.blocked = seconds(3600);
  api::set_condition(life.status().conditions, {"SlotAcquired", api::ConditionStatus::kFalse, "NoProgress", "", 0, {}},
                     life.now);
  life.slot = Slot::State::kWaiting;
  for (int i = 0; i < 100; ++i) {
    life.advance(minutes(1));
    life.tick();
    ASSERT_EQ(life.phase(), Phase::kRequesting) << life.status().message;
  }
  EXPECT_FALSE(life.status().blocked_since);
  life.slot = Slot::State::kGranted;
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(WithoutSlot, ARevokedReadinessEndsTheWaitForASlot) {
  Life life = without_slot();
  life.operator_withdraws("ready-to-evict");
  life.tick();
  EXPECT_FALSE(life.last.wants_slot);
  EXPECT_TRUE(life.status().blocked_by.empty());
  EXPECT_EQ(life.phase(), Phase::kInProgress);
}

TEST(WithoutSlot, ACancelEndsTheWaitForASlot) {
  Life life = without_slot();
  life.cancel();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  EXPECT_EQ(life.action(), "Abort");
}

TEST(WithoutSlot, TheTotalTimeoutEndsTheWaitForASlot) {
  Life life = without_slot();
  life.advance(seconds(604'800));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  EXPECT_EQ(life.status().abort->reason, "ProgressTimeout");
}

TEST(WithoutProgress, APolicyMayAllowAHandoffMoreThanAnHour) {
  Life life = beating();
  for (api::Condition& each : life.status().conditions) {
    if (each.type == kSignedByUs.type) each = kSignedByUs;
  }
  life.spec().timeouts.total = seconds(7200);
  beat(life, minutes(110));
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Acquired");
}

TEST(WithoutProgress, AnEvictorThatIsNeverAvailableHoldsNoSlot) {
  api::Evacuation evacuation = patient();
  evacuation.spec.evictors = {{"eviction-request", {}}};
  Life life(evacuation);
  life.seen.serves_native_evictions = true;
  life.seen.dead_until["eviction-request"] = kNoon + std::chrono::hours(200);
  set_waited_for(life, true);
  life.tick();
  ASSERT_EQ(life.phase(), Phase::kPreparing);
  ASSERT_EQ(life.status().evictor, "");
  life.advance(minutes(10));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  EXPECT_EQ(life.status().reason, "NoProgress");
}

// --- manual Evacuations

const api::Condition kSigned{"OriginVerified", api::ConditionStatus::kTrue, "Signed", "", 0, {}};
const api::Condition kNotSigned{"OriginVerified", api::ConditionStatus::kFalse, "NotSigned", "", 0, {}};

TEST(MadeByHand, MayNotAskForAPriorityAboveTheLimit) {
  Life life;
  life.spec().priority = 1'000'000'000;
  life.status().conditions = {kNotSigned};
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "NotAllowed");
  EXPECT_EQ(life.status().message,
            "spec.priority is 1000000000, and the maximum of a manual Evacuation is 1000 (limits.manual.priority of "
            "the operator's configuration)");
}

TEST(MadeByHand, APolicysPriorityIsThePolicys) {
  Life life;
  life.spec().priority = 1'000'000'000;
  life.status().conditions = {kSigned};
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(MadeByHand, ASuspendedEvacuationExpires) {
  Life life;
  life.spec().suspend = true;
  life.tick();
  EXPECT_EQ(life.status().deadline, kNoon + std::chrono::hours(168));
  life.advance(std::chrono::hours(168));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.status().reason, "DecisionExpired");
  EXPECT_EQ(life.status().message,
            "not approved within 168h0m0s (limits.manual.suspended of the operator's configuration)");
}

TEST(MadeByHand, APolicysSuspendedEvacuationWaitsForApproval) {
  Life life;
  life.spec().suspend = true;
  life.seen.policy_suspends = true;
  life.status().conditions = {kSigned};
  life.advance(std::chrono::hours(1000));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending);
  EXPECT_FALSE(life.status().deadline);
}

TEST(Suspended, APolicysEvacuationSuspendedByAnEditorExpires) {
  Life life;
  life.status().conditions = {kSigned};
  life.slot = Slot::State::kWaiting;
  life.tick();
  life.spec().suspend = true;
  life.advance(std::chrono::hours(168));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.status().reason, "DecisionExpired");
}

TEST(MadeByHand, AFinishedEvacuationIsRemovedAfterTheMaximumTtl) {
  for (const bool is_signed : {false, true}) {
    Life life;
    life.spec().ttl_after_finished = seconds(31'536'000);
    if (is_signed) life.status().conditions = {kSigned};
    life.pod_vanishes();
    life.tick();
    ASSERT_EQ(life.phase(), Phase::kCancelled);
    life.advance(std::chrono::hours(168));
    life.tick();
    EXPECT_EQ(life.last.remove_object, !is_signed);
  }
}

}  // namespace no_progress_test
