#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/phases/life.hpp"

/// The two-way handoff and the background protocol, run through decide() (wire-protocols.md#handoff-protocol,
/// wire-protocols.md#background-protocol; scenarios 28-34).
namespace evacuation_handoff_test {

using namespace evacuation_test;
using base::seconds;
using Phase = EvacuationPhase;

const std::string kToken = "e5b3.1";

Life handed(Annotations more = {}, const char* mode = "required") {
  more.push_back(handoff("mode", mode));
  return Life(make_evacuation(), make_pod(std::move(more)));
}

/// Returns a Life in InProgress with an acknowledged request.
Life acknowledged(Annotations more = {}) {
  Life life = handed(std::move(more));
  life.tick();
  EXPECT_EQ(life.action(), "RequestMigrate");
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  life.advance(seconds(1));
  life.operator_says("ack", kToken + "@1");
  life.tick();
  EXPECT_EQ(life.condition_reason("HandoffAcknowledged"), "Acknowledged");
  return life;
}

TEST(Handoff, GoesThroughPreMigrateAndPost) {
  Life life = handed({handoff("phases", "pre,migrate,post")});
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPreparing);
  EXPECT_EQ(life.action(), "RequestPre");
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kPreparing);
  life.operator_says("ack", kToken + "@1");
  life.tick();
  life.operator_says("pre-done", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "RequestMigrate");
  EXPECT_EQ(life.phase(), Phase::kRequesting);
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  life.operator_says("progress", kToken + "@50");
  life.tick();
  EXPECT_EQ(life.status().progress, 50);
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  life.answer(201);
  life.pod_vanishes();
  life.replacement(true);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying) << "post is not done";
  api::set_condition(life.status().conditions, {"PostCompleted", api::ConditionStatus::kTrue, "Done", "", 0, {}},
                     life.now);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_EQ(life.status().reason, "Evicted");
}

TEST(Handoff, NeverEvictsARequiredPodWithoutAcknowledgement) {
  Life life = handed();
  life.spec().retry.max_attempts = 1;
  life.tick();
  life.accept_patch();
  EXPECT_EQ(life.last.requeue, kube::Requeue::in(seconds(60)));
  life.advance(seconds(60));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  EXPECT_EQ(life.action(), "Abort");
  life.accept_patch();
  EXPECT_EQ(life.action(), "");
  life.advance(seconds(60));
  life.tick();
  EXPECT_EQ(life.action(), "CleanUp");
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "AcknowledgeTimeout");
  EXPECT_FALSE(life.seen.pod->meta.annotations.contains("handoff.evacuator.dev/request"));
  EXPECT_FALSE(life.seen.pod->meta.annotations.contains("handoff.evacuator.dev/abort"));
}

TEST(Handoff, EvictsAnOptionalPodWithoutAcknowledgement) {
  Life life = handed({}, "optional");
  life.tick();
  EXPECT_EQ(life.action(), "RequestMigrate");
  life.accept_patch();
  life.advance(seconds(60));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.condition_reason("HandoffAcknowledged"), "AcknowledgeTimeout");
}

TEST(Handoff, GoesBackWhenReadyIsRevokedWhileBlocked) {
  Life life = acknowledged();
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  life.answer(429, pdb_body());
  const auto blocked_since = life.status().blocked_since;
  life.operator_withdraws("ready-to-evict");
  life.advance(seconds(6));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_EQ(life.condition_reason("ReadyToEvict"), "Revoked");
  EXPECT_EQ(life.status().blocked_since, blocked_since) << "Requesting and InProgress must not cycle for ever";
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(Handoff, MakesNoEarlierCallWhenReadyFlickers) {
  Life life = acknowledged();
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  life.answer(429, pdb_body());
  const auto next_call = life.status().next_action_at;
  life.operator_withdraws("ready-to-evict");
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kRequesting);
  EXPECT_EQ(life.action(), "");
  life.now = next_call.value();
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(Handoff, SeesReadyRevokedBeforeTheCall) {
  Life life = acknowledged();
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  ASSERT_EQ(life.action(), "PostEviction");
  life.crash_before_answer(false);
  life.operator_withdraws("ready-to-evict");
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_EQ(life.action(), "");
}

TEST(Handoff, TriesAgainWithANewTokenAfterARetryableFailure) {
  Life life = acknowledged();
  life.operator_says("failed", kToken + ":RetryableNoReplica:no replica in sync");
  life.tick();
  EXPECT_EQ(life.action(), "CleanUp") << "a failed operator has nothing to undo";
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  EXPECT_EQ(life.status().reason, "HandoffFailed");
  life.advance(seconds(60));
  life.tick();
  EXPECT_EQ(life.action(), "RequestMigrate");
  EXPECT_EQ(life.status().token, "e5b3.2");
  life.accept_patch();
  life.operator_says("ready-to-evict", kToken);  // token of the previous attempt
  life.operator_says("ack", "e5b3.2@2");
  life.tick();
  EXPECT_EQ(life.action(), "") << "a stale token has no effect";
  life.operator_says("ready-to-evict", "e5b3.2");
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(Handoff, FailsForGoodAfterAFinalFailure) {
  Life life = acknowledged();
  life.operator_says("ready-to-evict", kToken);
  life.operator_says("failed", kToken + ":DiskFull:no space");
  life.tick();
  EXPECT_EQ(life.action(), "CleanUp") << "failed beats ready";
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "HandoffFailed");
  EXPECT_EQ(life.status().message, "DiskFull: no space");
}

TEST(Handoff, CancelWaitsForTheOperatorsAnswer) {
  Life life = acknowledged();
  life.cancel();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  EXPECT_EQ(life.action(), "Abort");
  life.accept_patch();
  life.advance(seconds(200));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  life.operator_says("aborted", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "CleanUp");
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.condition_reason("RollbackComplete"), "Complete");
}

TEST(Handoff, AnIgnoredAbortEndsWithoutRetryButClean) {
  Life life = acknowledged();
  life.advance(seconds(1800));
  life.operator_says("heartbeat", kToken + "@late");
  life.tick();
  EXPECT_EQ(life.status().reason, "ProgressTimeout");
  EXPECT_EQ(life.action(), "Abort");
  EXPECT_EQ(life.status().abort->next, Phase::kBackoff);
  life.accept_patch();
  life.advance(seconds(300));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed) << "no second attempt on a pod that is not as it was";
  EXPECT_EQ(life.status().reason, "ProgressTimeout");
  EXPECT_EQ(life.condition_reason("RollbackComplete"), "AbortTimeout");
  EXPECT_EQ(life.action(), "CleanUp");
  life.accept_patch();
  EXPECT_FALSE(life.seen.pod->meta.annotations.contains("handoff.evacuator.dev/request"));
  EXPECT_TRUE(life.seen.evacuation.meta.finalizers.empty());
}

/// Returns a Life whose abort was not answered before its timeout.
Life cancelled_unheard() {
  Life life = acknowledged();
  life.cancel();
  life.tick();
  life.accept_patch();
  life.advance(seconds(300));
  life.tick();
  return life;
}

TEST(Handoff, ACleanUpDelayedByADayKeepsTheFinalizerNoLongerThanAnAbort) {
  Life life = cancelled_unheard();
  ASSERT_EQ(life.phase(), Phase::kCancelled);
  ASSERT_EQ(life.action(), "CleanUp");
  life.answer(evictors::CallResult(kube::Response{429, status_body(429, "maintenance"), seconds(86400), ""}));
  EXPECT_FALSE(life.seen.evacuation.meta.finalizers.empty());
  EXPECT_EQ(life.last.requeue, kube::Requeue::in(seconds(300)));
  life.advance(seconds(300));
  life.tick();
  EXPECT_TRUE(life.seen.evacuation.meta.finalizers.empty());
}

/// The operator crashed after it stored the verdict, and no leader existed for longer than the cleanup timeout.
TEST(Handoff, ALateLeaderStillCleansUp) {
  Life life = cancelled_unheard();
  ASSERT_EQ(life.phase(), Phase::kCancelled);
  life.advance(seconds(3000));
  life.seen.resumed_at = life.now;
  life.tick();
  EXPECT_EQ(life.action(), "CleanUp");
  EXPECT_FALSE(life.seen.evacuation.meta.finalizers.empty());
  life.advance(seconds(30));
  life.tick();
  EXPECT_TRUE(life.seen.evacuation.meta.finalizers.empty()) << "it is not held for ever either";
}

TEST(Handoff, ARefusedAbortIsReportedWithItsAnswer) {
  Life life = acknowledged();
  life.cancel();
  life.tick();
  EXPECT_EQ(life.action(), "Abort");
  life.answer(403, status_body(403, "cannot patch resource pods"));
  life.advance(seconds(300));
  life.tick();
  EXPECT_EQ(life.condition_reason("RollbackComplete"), "AbortTimeout");
  const std::string message = life.condition("RollbackComplete")->message;
  EXPECT_NE(message.find("403"), std::string::npos) << message;
  EXPECT_NE(message.find("cannot patch resource pods"), std::string::npos) << message;
}

TEST(Handoff, ARefusedAbortIsRetriedWithBackoff) {
  Life life = acknowledged();
  life.cancel();
  life.tick();
  int calls = 0;
  while (life.phase() == Phase::kAborting && calls < 1000) {
    if (life.action() == "Abort") {
      ++calls;
      life.answer(403, status_body(403, "cannot patch resource pods"));
      EXPECT_NE(life.condition("RollbackComplete")->message.find("403"), std::string::npos) << "told while it lasts";
    }
    life.advance(seconds(1));
    life.tick();
  }
  EXPECT_EQ(calls, 8) << "after 5, 10, 20, 40, 60, 60 and 60 seconds";
  EXPECT_EQ(life.condition_reason("RollbackComplete"), "AbortTimeout");
}

TEST(Handoff, AnUnchangedHeartbeatDoesNotCount) {
  Life life = acknowledged({handoff("timeout", "10h")});
  const auto first = life.now;
  life.operator_says("heartbeat", kToken + "@2026-11-21T13:00:00Z");
  life.tick();
  for (int i = 0; i < 3; ++i) {
    life.advance(seconds(300));
    life.operator_says("heartbeat", kToken + "@2026-11-21T13:00:00Z");
    life.tick();
    EXPECT_EQ(life.phase(), Phase::kInProgress);
    EXPECT_EQ(life.status().last_heartbeat_at, first);
  }
  life.advance(seconds(300));
  life.tick();
  EXPECT_EQ(life.status().reason, "HeartbeatLost");
}

TEST(Handoff, TrustsOnlyItsOwnClock) {
  Life life = acknowledged();
  life.advance(seconds(100));
  life.operator_says("heartbeat", kToken + "@1999-01-01T00:00:00Z");
  life.tick();
  EXPECT_EQ(life.status().last_heartbeat_at, life.now);
}

TEST(Handoff, TheTotalTimeoutNeverMoves) {
  Life life = acknowledged({handoff("timeout", "20m")});
  const auto deadline = life.status().deadline;
  EXPECT_EQ(deadline, kNoon + seconds(1200));
  life.operator_says("timeout", "10h");
  life.operator_says("heartbeat", kToken + "@x");
  life.tick();
  EXPECT_EQ(life.status().deadline, deadline);
}

TEST(Handoff, LetsTheOwnerEvict) {
  Life life = acknowledged({handoff("evict-by", "owner")});
  life.operator_says("ready-to-evict", kToken);
  life.tick();
  EXPECT_EQ(life.action(), "");
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  life.pod_terminates();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(life.status().outcome->kind, api::OutcomeKind::kMovedByOwner);
  EXPECT_EQ(life.condition_reason("EvictionGranted"), "OwnerDeleted");
}

TEST(Handoff, FindsItsRequestAfterACrash) {
  Life life = handed();
  life.tick();
  life.crash_before_answer(true);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_EQ(life.action(), "");
  EXPECT_EQ(life.status().intent->result, "Observed");
}

TEST(Handoff, RetriesAPatchThatMetAnotherWriter) {
  Life life = handed();
  life.tick();
  life.answer(409, status_body(409, "the object has been modified"));
  EXPECT_EQ(life.action(), "RequestMigrate") << "at once, on what is there now";
  life.accept_patch();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_FALSE(life.status().blocked_since);
}

TEST(Handoff, ARemovedRequestEndsTheAttempt) {
  Life life = acknowledged();
  life.operator_withdraws("request");
  life.tick();
  EXPECT_EQ(life.status().reason, "HandoffFailed");
}

TEST(Handoff, FailsAtOnceOnTimeoutFail) {
  Life life = acknowledged();
  life.spec().on_timeout = api::OnTimeout::kFail;
  life.advance(seconds(1200));
  life.tick();
  EXPECT_EQ(life.action(), "Abort");
  EXPECT_EQ(life.status().abort->next, Phase::kFailed);
}

TEST(Handoff, ContinuesWithTheNextEvictorIfAllowed) {
  Life life = handed({}, "optional");
  life.spec().on_timeout = api::OnTimeout::kNextEvictor;
  life.tick();
  life.accept_patch();
  life.operator_says("ack", kToken + "@1");
  life.tick();
  life.advance(seconds(1200));
  life.tick();
  EXPECT_EQ(life.action(), "Abort");
  life.accept_patch();
  life.operator_says("aborted", kToken);
  life.tick();
  life.accept_patch();
  EXPECT_EQ(life.action(), "PostEviction") << "without a delay";
  EXPECT_EQ(life.status().evictor, "eviction-api");
  EXPECT_EQ(life.status().attempt, 2);
}

TEST(Handoff, HasNoNextEvictorForARequiredPod) {
  Life life = acknowledged();
  life.spec().on_timeout = api::OnTimeout::kNextEvictor;
  life.advance(seconds(1200));
  life.tick();
  EXPECT_EQ(life.status().abort->next, Phase::kFailed);
}

TEST(Handoff, ACancelThatLosesTheRaceEndsInSuccess) {
  Life life = acknowledged();
  life.cancel();
  life.tick();
  life.accept_patch();
  life.pod_terminates();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(life.condition_reason("CancelAccepted"), "PointOfNoReturn");
  EXPECT_EQ(life.action(), "") << "no abort action beyond the point of no return";
}

// --- background eviction

Life background() {
  Life life(make_evacuation(), make_pod({{"descheduler.alpha.kubernetes.io/request-evict-only", ""}}));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  return life;
}
const std::string kTaken = status_body(
    429, R"(admission webhook \"virt\" denied the request: Eviction triggered evacuation of VMI \"shop/vm\")");
const std::string kMark = "descheduler.alpha.kubernetes.io/eviction-in-progress";

TEST(Background, FollowsTheMarkToTheEnd) {
  Life life = background();
  life.answer(429, kTaken);
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_EQ(life.action(), "") << "never asked again";
  life.annotate(kMark, "true");
  life.tick();
  EXPECT_EQ(life.condition_reason("HandoffAcknowledged"), "Acknowledged");
  life.pod_vanishes();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  EXPECT_EQ(life.status().outcome->kind, api::OutcomeKind::kMovedByOwner);
}

TEST(Background, AsksAgainAfterTheMarkVanished) {
  Life life = background();
  life.answer(429, kTaken);
  life.annotate(kMark, "true");
  life.tick();
  life.set_pod(make_pod({{"descheduler.alpha.kubernetes.io/request-evict-only", ""}}));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  life.advance(seconds(60));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.status().attempt, 2);
}

TEST(Background, JoinsAnEvictionThatIsUnderWay) {
  Life life(make_evacuation(), make_pod({{"descheduler.alpha.kubernetes.io/request-evict-only", ""}, {kMark, "true"}}));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kInProgress);
  EXPECT_EQ(life.action(), "");
}

TEST(Background, CannotTakeItsMarkBack) {
  Life life = background();
  life.answer(429, kTaken);
  life.annotate(kMark, "true");
  life.tick();
  life.cancel();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.condition_reason("RollbackComplete"), "RemoteMarkRemains");
}

}  // namespace evacuation_handoff_test
